/* Boards, and what came of them, for the tests of the page about a regrade. */
#ifndef KGRADE_TESTS_REGRADE_SCENES_H
#define KGRADE_TESTS_REGRADE_SCENES_H

#include "regrade_help.h"

#include <jansson.h>

#include "grader/regrade/report/page.h"
#include "grader/regrade/report/report.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])
#define HOSTILE                                                                                    \
    "</style></title><script>alert('1')</script>\"><img src=x onerror=alert(1)>\x1b\u202e&amp;]]>"
#define MAX_PAGE (4u << 20) /* bytes of the page of any board */

/* What an entry was on the board, and what came of it. */
struct planned {
    char id[96], author[128], text[96]; /* text: what is graded; the same one has the same result */
    const char *board, *problem, *task;
    double old; /* of the board's unit; NaN: none */
    double device_ns, host_ns;
    double percent; /* half of the spread of its samples */
    const char *verdict, *reason;
    const char *skip_code, *skip_message;
    int more_cases;    /* than two, of the task */
    const char *cases; /* single figures of the board, as JSON; NULL: none */
};

struct scene {
    struct planned *list;
    size_t n;
    const char *unit, *rule;
    bool lower;
};

static uint32_t seed = 1;

static double uniform(void)
{
    seed = seed * 1664525 + 1013904223;
    return (double)(seed >> 8) / (double)(1u << 24);
}

/* Near 0, mostly within 1 of it. */
static double scattered(void)
{
    return uniform() + uniform() + uniform() + uniform() - 2;
}

static json_t *series(double ns, double percent)
{
    json_t *samples = json_array();
    for (int i = 0; i < 120; i++) {
        double tail = uniform() < 0.04 ? ns * 0.2 * uniform() : 0;
        json_array_append_new(
            samples, json_integer((json_int_t)(ns * (1 + percent / 100 * scattered()) + tail)));
    }
    return json_pack("{s:f, s:f, s:f, s:i, s:i, s:f, s:o}", "median_ns", ns, "mean_ns", ns,
                     "stderr_ns", ns * percent / 1000, "samples", 120, "void_samples", 0,
                     "resolution_ns", 1.0, "samples_ns", samples);
}

static json_t *benchmark(const struct planned *p, double scale, int n)
{
    double ns = p->device_ns * scale, base = 30000 * scale;
    return json_pack("{s:s, s:{s:i}, s:o, s:o, s:{s:f, s:f, s:f, s:f}, s:{s:f, s:i}}", "kind",
                     "benchmark", "dims", "n", n, "device_time", series(ns, p->percent), "baseline",
                     series(base * (1 + 0.004 * scattered()), 1), "speedup", "value", base / ns,
                     "low", base / ns * (1 - p->percent / 600), "high",
                     base / ns * (1 + p->percent / 600), "confidence", 0.95, "host_overhead",
                     "warm_ns", p->host_ns, "calls", 20);
}

static char *result_of(const struct planned *p)
{
    bool accepted = !strcmp(p->verdict, "accepted");
    json_t *cases = json_array();
    json_array_append_new(cases,
                          json_pack("{s:s, s:{s:i}}", "kind", "correctness", "dims", "n", 31));
    if (accepted) {
        json_array_append_new(cases, benchmark(p, 0.5, 65536));
        json_array_append_new(cases, benchmark(p, 2, 1048576));
        for (int i = 0; i < p->more_cases; i++)
            json_array_append_new(cases, benchmark(p, 1, i));
    }
    json_auto_t *json = json_pack("{s:s, s:f, s:o, s:o, s:{s:f}}", "verdict", p->verdict, "score",
                                  accepted ? 30000 / p->device_ns : 0, "cases", cases, "reason",
                                  accepted ? json_null() : json_pack("{s:s}", "code", p->reason),
                                  "steps", "device_held_ms", 2.0);
    char *text = json_dumps(json, JSON_COMPACT);
    assert_non_null(text);
    return text;
}

static const struct planned *planned_of(const struct scene *s, const char *text)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->list[i].text, text))
            return &s->list[i];
    fail_msg("there is no %s", text);
    return NULL;
}

static void add_planned(struct regrade_store *store, const struct scene *s, size_t i)
{
    const struct planned *p = &s->list[i];
    kgrade_error err = {0};
    struct regrade_entry e = entry(p->id, p->text);
    e.board = p->board;
    e.problem = p->problem;
    e.author = *p->author ? p->author : NULL;
    e.files = "submission.cu";
    e.hardware = "H100";
    e.original =
        (struct regrade_original){.value = p->old,
                                  .unit = s->unit,
                                  .lower_is_better = s->lower,
                                  .passed = isnan(p->old) ? REGRADE_FAILED : REGRADE_PASSED};
    json_auto_t *cases = p->cases ? json_loads(p->cases, 0, NULL) : NULL;
    e.original.cases = cases;
    e.skip_code = p->skip_code;
    e.skip_message = p->skip_message;
    must(regrade_store_add(store, &e, &err), &err);
}

/* Takes the scene in and grades all of it. */
static inline struct regrade_store *make_store(const struct scene *s)
{
    struct regrade_store *store = open_store();
    kgrade_error err = {0};
    json_auto_t *tallies = json_pack("{s:i, s:s}", "rows with a score of 0", 3, HOSTILE, HOSTILE);
    const struct regrade_source source = {
        .title = s->n && *s->list[0].author == '<' ? HOSTILE : "A board of kernels",
        .rule = s->rule,
        .clock = "One event pair around a call from Python.",
        .tallies = tallies};
    must(regrade_store_begin_source(store, "folder", "boards/" HOSTILE, &source, &err), &err);
    for (size_t i = 0; i < s->n; i++)
        add_planned(store, s, i);
    must(regrade_store_add_note(store, "Two files were larger than a candidate may be: " HOSTILE,
                                &err),
         &err);
    must(regrade_store_end_source(store, true, &err), &err);
    must(regrade_store_choose(store, NULL, 0, &err), &err);
    must(regrade_store_begin(store, REGRADE_FIRST, &err), &err);
    struct regrade_job job;
    int rc;
    while (!(rc = regrade_store_next(store, &job, &err))) {
        const struct planned *p = planned_of(s, job.source);
        if (p->verdict) {
            char *text = result_of(p);
            must(regrade_store_finish(store, &job, text, NULL, &err), &err);
            free(text);
        }
        regrade_job_free(&job);
    }
    assert_int_equal(rc, 1);
    return store;
}

/* The page; the caller frees it. */
static inline char *page_of(const struct scene *s)
{
    struct regrade_store *store = make_store(s);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    kgrade_error err = {0};
    must(regrade_report_html(store, out, &err), &err);
    assert_int_equal(fclose(out), 0);
    regrade_store_close(store);
    assert_true(size < MAX_PAGE);
    return text;
}

/* --- scenes --- */

static struct planned *add(struct scene *s, const char *author, double old, double device_ns,
                           double host_ns)
{
    s->list = realloc(s->list, (s->n + 1) * sizeof *s->list);
    assert_non_null(s->list);
    struct planned *p = &s->list[s->n];
    *p = (struct planned){.board = "grayscale_v2",
                          .problem = "grayscale_v2",
                          .old = old,
                          .device_ns = device_ns,
                          .host_ns = host_ns,
                          .percent = 2,
                          .verdict = "accepted"};
    snprintf(p->id, sizeof p->id, "grayscale_v2/%zu", s->n);
    snprintf(p->text, sizeof p->text, "%zu", s->n);
    snprintf(p->author, sizeof p->author, "%.127s", author);
    s->n++;
    return p;
}

static inline void free_scene(struct scene *s)
{
    free(s->list);
    *s = (struct scene){0};
}

/* One kernel behind a slow and a fast way to launch it. */
static inline struct scene one_kernel_two_dispatches(void)
{
    struct scene s = {.unit = "us", .rule = "geom", .lower = true};
    add(&s, "slow_dispatch", 38.5, 3010, 31000);
    add(&s, "fast_dispatch", 9.1, 3000, 7200);
    return s;
}

/* Forty entries: many that differ in their launch paths only, some that do not, some that are not accepted. */
static inline struct scene forty(void)
{
    static const char *const names[] = {"warpspeed",
                                        "tensorcat",
                                        "alice",
                                        "bob",
                                        "cudamancer",
                                        "gridlock",
                                        "sm_enjoyer",
                                        "nvlinker",
                                        "ptxwizard",
                                        "coalescer",
                                        "bankconflict",
                                        "latencyhider",
                                        "occupancy",
                                        "carol",
                                        "dave",
                                        "quiet_river",
                                        "loop_unroller",
                                        "swizzle",
                                        "pipeline7",
                                        "halfwarp",
                                        "mallory",
                                        "trent",
                                        "a_rather_long_name_for_an_author_of_kernels",
                                        "vectorload"};
    struct scene s = {.unit = "us", .rule = "geom", .lower = true};
    for (size_t i = 0; i < 40; i++) {
        char name[64];
        /* The device decides among most; every seventh is quick to launch, and pairs of kernels are alike. */
        double device = 3000 * (1 + 0.05 * (double)(i - i % 2));
        double host = i % 7 == 5 ? 2600 : 9000 + 150 * (double)(i * 5 % 17);
        if (i < LENGTH(names))
            snprintf(name, sizeof name, "%s", names[i]);
        else
            snprintf(name, sizeof name, "entrant_%zu", i);
        add(&s, name, (device + host) / 1000, device * (1 + 0.001 * scattered()), host);
    }
    static const struct {
        size_t at;
        const char *verdict, *reason;
    } bad[] = {{3, "wrong_answer", "wrong_values"},    {8, "suspect", "faster_than_roofline"},
               {17, "refused", "no_kernel_node"},      {22, "wrong_answer", "wrong_values"},
               {29, "build_failed", "compile_failed"}, {31, "unresolved", "too_noisy"}};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        s.list[bad[i].at].verdict = bad[i].verdict;
        s.list[bad[i].at].reason = bad[i].reason;
    }
    s.list[8].old = 3.1; /* it led the board */
    s.list[35].old = NAN;
    for (size_t i = 36; i < 39; i++) {
        s.list[i].skip_code = i < 38 ? "needs_python" : "no_task";
        s.list[i].skip_message = i < 38 ? "The submission is in Python, which cannot be graded yet."
                                        : "No task here has the problem’s inputs.";
    }
    return s;
}

/* Three runs over twelve problems, with speedups. */
static inline struct scene runs(void)
{
    static const char *const who[] = {"model-a", "model-b", "model-c"};
    struct scene s = {.unit = "ratio", .rule = "fast_p", .lower = false};
    for (size_t problem = 0; problem < 12; problem++)
        for (size_t k = 0; k < LENGTH(who); k++) {
            if (problem == 5 && k == 2)
                continue; /* which it never entered */
            struct planned *p =
                add(&s, who[k], 0.4 + 0.35 * (double)k + 0.1 * (double)problem,
                    30000 / (0.6 + 0.2 * (double)k + 0.08 * (double)(problem * 5 % 12)), 9000);
            static const char *const problems[] = {
                "ReLU", "Softmax",   "MatMul", "LayerNorm", "Conv2d", "MaxPool",
                "GELU", "BatchNorm", "Sum",    "ArgMax",    "CumSum", "TripletMarginLoss"};
            p->board = "level1";
            p->problem = problems[problem];
            if ((problem + k) % 7 == 3) {
                p->verdict = k ? "wrong_answer" : "build_failed";
                p->reason = k ? "wrong_values" : "compile_failed";
            }
        }
    return s;
}

static inline struct scene hostile(void)
{
    struct scene s = forty();
    for (size_t i = 0; i < s.n; i++) {
        struct planned *p = &s.list[i];
        snprintf(p->author, sizeof p->author, "%s%zu", HOSTILE, i);
        p->board = p->problem = HOSTILE;
        if (p->reason)
            p->reason = HOSTILE;
        if (p->skip_code) {
            p->skip_code = HOSTILE;
            p->skip_message = HOSTILE;
        }
    }
    return s;
}

#define KERNELS 200 /* that the entries of a large board share */

static inline struct scene large(size_t n)
{
    struct scene s = {.unit = "us", .rule = "geom", .lower = true};
    for (size_t i = 0; i < n; i++) {
        char name[64];
        snprintf(name, sizeof name, "entrant number %zu, whose name is long indeed", i);
        double device = 3000 * (1 + 0.02 * (double)(i % KERNELS));
        struct planned *p = add(&s, name, device / 1000 + 5 + 5 * uniform(), device, 8000);
        snprintf(p->text, sizeof p->text, "%zu", i % KERNELS);
        if (i % 50 == 7) {
            p->verdict = "wrong_answer";
            p->reason = "wrong_values";
        }
    }
    return s;
}

#define MANY_BOARDS (BOARD_MAX_TABLES + 70)
#define OF_A_BOARD 8

static inline struct scene many_boards(void)
{
    static char names[MANY_BOARDS][24];
    struct scene s = {.unit = "ms", .rule = "geom", .lower = true};
    for (size_t i = 0; i < OF_A_BOARD * MANY_BOARDS; i++) {
        size_t k = i % OF_A_BOARD, board = i / OF_A_BOARD;
        char who[16];
        snprintf(who, sizeof who, "author_%zu", k);
        double device = 4000 + 1000 * (double)k;
        struct planned *p = add(&s, who, 0.01 * (double)(1 + k), device, 9000);
        snprintf(p->text, sizeof p->text, "%zu", k);
        snprintf(names[board], sizeof names[board], "board_%05zu", board);
        p->board = p->problem = names[board];
    }
    return s;
}

#define MANY_CODES (BOARD_MAX_CODES + 9)

/* Each entry fails, or is not graded, for a reason of its own; and one is accepted, in many cases. */
static inline struct scene many_codes(void)
{
    static char codes[2 * MANY_CODES][24];
    struct scene s = {.unit = "us", .rule = "geom", .lower = true};
    for (size_t i = 0; i < 2 * MANY_CODES; i++) {
        snprintf(codes[i], sizeof codes[i], "code_%03zu", i);
        struct planned *p = add(&s, codes[i], 10, 3000, 9000);
        p->verdict = "refused";
        p->reason = codes[i];
        if (i % 2) {
            p->skip_code = codes[i];
            p->skip_message = "It is not ours.";
        }
    }
    struct planned *p = add(&s, "", 10, 3000, 9000);
    memset(p->author, 'x', sizeof p->author - 1);
    p->more_cases = 8;
    return s;
}

#endif
