/* What the tests of adapters share: sinks that note what is delivered, and tasks that entries can be graded with. */
#ifndef KGRADE_TESTS_REGRADE_ADAPTERS_HELP_H
#define KGRADE_TESTS_REGRADE_ADAPTERS_HELP_H

#include "regrade_help.h"

#include "grader/regrade/problem.h"

/* What was delivered, as lines. */
static struct {
    char text[16384], note[512]; /* note: the last one */
    size_t notes;
} seen;

static int on_begin(void *data, const struct regrade_source *source, kgrade_error *err)
{
    (void)data;
    (void)err;
    snprintf(seen.text, sizeof seen.text, "%s\n", source->rule);
    seen.notes = 0;
    return 0;
}

static int on_take(void *data, const struct regrade_entry *given, kgrade_error *err)
{
    (void)err;
    struct regrade_entry e = *given;
    static const char *const passed[] = {"?", "passed", "failed"};
    size_t used = strlen(seen.text);
    regrade_complete(&e, data);
    snprintf(seen.text + used, sizeof seen.text - used, "%s|%s|%s|%s|%s|%g %s #%u %s\n", e.id,
             e.board, e.author ? e.author : "-", e.skip_code ? e.skip_code : e.task,
             e.skip_code ? "-" : e.device, e.original.value,
             e.original.unit ? e.original.unit : "-", e.original.rank, passed[e.original.passed]);
    return 0;
}

static int on_note(void *data, const char *text, kgrade_error *err)
{
    (void)data;
    (void)err;
    seen.notes++;
    snprintf(seen.note, sizeof seen.note, "%s", text);
    return 0;
}

/* The problem that was carried last, and how often one was. */
static struct {
    json_t *json, *files, *baselines;
    char name[128], origin[512];
    size_t n;
} carried;

static int on_carry(void *data, const struct regrade_problem *problem, struct regrade_carried *ret,
                    kgrade_error *err)
{
    (void)data;
    (void)err;
    json_decref(carried.json);
    json_decref(carried.files);
    json_decref(carried.baselines);
    carried.json = json_deep_copy(problem->json);
    carried.files = json_deep_copy(problem->files);
    carried.baselines = json_deep_copy(problem->baselines);
    snprintf(carried.name, sizeof carried.name, "%s", problem->name);
    snprintf(carried.origin, sizeof carried.origin, "%s", problem->origin);
    carried.n++;
    *ret = (struct regrade_carried){.task = carried.name};
    return 0;
}

static json_t *tasks;

static int make_tasks(void **state)
{
    (void)state;
    tasks = json_pack("[{s:s, s:[{s:s, s:[s]}, {s:s, s:[s]}]}, {s:s, s:[{s:s, s:[s]}]}]", "name",
                      "vector_add", "devices", "name", "opencl", "languages", "c", "name", "cuda",
                      "languages", "cuda", "name", "matmul", "devices", "name", "opencl",
                      "languages", "c");
    static const char *const made[] = {"gpumode_vectoradd", "gpumode_again",   "gpumode_add_py",
                                       "kernelbench_1_2",   "kernelbench_2_1", "arena_twice"};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        json_array_append_new(tasks, json_pack("{s:s, s:[{s:s, s:[s]}]}", "name", made[i],
                                               "devices", "name", "cuda", "languages", "python"));
    return tasks ? 0 : -1;
}

static int free_tasks(void **state)
{
    (void)state;
    json_decref(tasks);
    json_decref(carried.json);
    json_decref(carried.files);
    json_decref(carried.baselines);
    return 0;
}

/* Reads folder/NAME; the error's code, or what was delivered.  adapter: the one that must recognise it. */
static const char *read_with(const char *adapter, const char *name, struct regrade_wishes wishes)
{
    static kgrade_error err;
    char path[512];
    snprintf(path, sizeof path, "%s%s%s", folder, *name ? "/" : "", name);
    const struct regrade_adapter *found = regrade_adapter_for(path, &err);
    if (!found)
        return err.code;
    assert_string_equal(found->name, adapter);
    wishes.tasks = tasks;
    const struct regrade_sink sink = {on_begin, on_take, on_note, &wishes, on_carry};
    return found->read(path, &wishes, &sink, &err) ? err.code : seen.text;
}

static const char *read_as(const char *adapter, const char *name)
{
    return read_with(adapter, name, (struct regrade_wishes){0});
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

#endif
