/* Texts of task.json for tests. */
#ifndef KGRADE_SAMPLE_TASK_H
#define KGRADE_SAMPLE_TASK_H

/* One of everything; the mistakes below are made by replacing a part of it. */
static const char good[] =
    "{\"name\": \"sample\", \"title\": \"A sample\", \"entry\": \"run_it\",\n"
    " \"parameters\": [\n"
    "  {\"name\": \"x\", \"kind\": \"in\", \"dtype\": \"f16\", \"shape\": [\"n\", \"k + 1\"],\n"
    "   \"values\": {\"distribution\": \"normal\", \"scale\": 2, \"offset\": 0.5}},\n"
    "  {\"name\": \"p\", \"kind\": \"inout\", \"dtype\": \"i8\", \"shape\": [\"k\"],\n"
    "   \"values\": {\"distribution\": \"integer\", \"low\": -5, \"high\": 100}},\n"
    "  {\"name\": \"y\", \"kind\": \"out\", \"dtype\": \"f32\", \"shape\": []},\n"
    "  {\"name\": \"n\", \"kind\": \"dim\", \"dtype\": \"i64\"},\n"
    "  {\"name\": \"alpha\", \"kind\": \"scalar\", \"dtype\": \"f32\", \"value\": 0.1},\n"
    "  {\"name\": \"k\", \"kind\": \"dim\", \"dtype\": \"i32\"},\n"
    "  {\"name\": \"q\", \"kind\": \"stream\"}],\n"
    " \"cases\": {\n"
    "  \"correctness\": [{\"n\": 3, \"k\": 4}, {\"n\": 5, \"k\": 0, \"devices\": [\"cuda\"]}],\n"
    "  \"benchmark\": [{\"n\": 100, \"k\": 200}],\n"
    "  \"hidden\": [{\"count\": 5, \"n\": [1, 40], \"k\": [10, 90], \"multiple_of\": {\"k\": "
    "8}}]},\n"
    " \"tolerance\": {\"f32\": {\"absolute\": 1e-6, \"relative\": 1e-5, \"norm\": 1e-7, "
    "\"why\": \"because\"}},\n"
    " \"roofline\": {\"bytes\": \"2*n*(k+1) + 4\", \"operations\": \"n*k\"},\n"
    " \"workspace_bytes\": 4096, \"devices\": [\"cuda\", \"opencl\"]}\n";

static inline int parse(const char *text, struct task **ret, kgrade_error *err)
{
    return task_parse(text, strlen(text), "folder/task.json", ret, err);
}

/* The text with the first occurrence of `from` replaced.  Caller frees. */
static inline char *replaced(const char *original, const char *from, const char *to)
{
    const char *at = strstr(original, from);
    char *text;
    assert_non_null(at);
    assert_true(
        asprintf(&text, "%.*s%s%s", (int)(at - original), original, to, at + strlen(from)) >= 0);
    return text;
}

static inline char *changed(const char *from, const char *to)
{
    return replaced(good, from, to);
}

/* A text with n parameters, n_cases correctness cases and n_ranges hidden ranges of `count` cases.
 */
static inline char *sized(size_t n_params, size_t n_cases, size_t n_ranges, int count)
{
    enum { ROOM = 8192 };
    char *text = calloc(1, ROOM);
    assert_non_null(text);
    FILE *out = fmemopen(text, ROOM, "w");
    assert_non_null(out);
    fprintf(out, "{\"name\": \"a\", \"title\": \"a\", \"entry\": \"a\", \"parameters\": ["
                 "{\"name\": \"n\", \"kind\": \"dim\", \"dtype\": \"i32\"}");
    for (size_t i = 1; i < n_params; i++)
        fprintf(out, ", {\"name\": \"y%zu\", \"kind\": \"out\", \"dtype\": \"i8\", \"shape\": []}",
                i);
    fprintf(out, "], \"roofline\": {\"bytes\": \"1\", \"operations\": \"1\"}, \"cases\": {"
                 "\"benchmark\": [{\"n\": 1}], \"correctness\": [");
    for (size_t i = 0; i < n_cases; i++)
        fprintf(out, "%s{\"n\": %zu}", i ? ", " : "", i);
    fprintf(out, "], \"hidden\": [");
    for (size_t i = 0; i < n_ranges; i++)
        fprintf(out, "%s{\"n\": [0, 99], \"count\": %d}", i ? ", " : "", count);
    fprintf(out, "]}}");
    fclose(out);
    return text;
}

#endif
