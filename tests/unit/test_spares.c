/*
 * How many workers wait for the next grade.  The device is OpenCL's, as if its workers were started ahead; the interpreter is
 * a real one that runs a program of the test's own, which waits for a request and ends when there is one.
 */
#include "engine_help.h"

#include <ctype.h>
#include <dirent.h>

#include "grader/judge/judge.h"

#define INTERPRETER "/usr/bin/python3"
#define N_PYTHON 3 /* recorders of it that are kept */
#define N_NATIVE (SPARE_RECORDERS + SPARE_REPLAYERS + SPARE_JUDGES)
#define BROKEN "\n#error no\n"
/* Takes its recorder and the replayers, and ends soon. */
#define CRASH "\n__attribute__((constructor)) static void crash(void) { __builtin_trap(); }\n"

static struct device device; /* that grades are for */

/* --- what waits --- */

static struct spares *spares_of(kgrade *engine)
{
    return &engine_slot(engine, &device)->spares;
}

static unsigned count(kgrade *engine, unsigned kind)
{
    struct spares *spares = spares_of(engine);
    unsigned n = 0;
    pthread_mutex_lock(&spares->lock);
    for (size_t i = 0; i < spares->n; i++)
        n += spares->items[i].worker.jail && spares->items[i].kind == kind;
    pthread_mutex_unlock(&spares->lock);
    return n;
}

static void assert_waiting(kgrade *engine, unsigned python, unsigned python_judges, bool native)
{
    assert_int_equal(count(engine, 0), python);
    assert_int_equal(count(engine, SPARE_PYTHON_JUDGE), python_judges);
    assert_int_equal(count(engine, SPARE_RECORDER), native ? SPARE_RECORDERS : 0);
    assert_int_equal(count(engine, SPARE_REPLAYER), native ? SPARE_REPLAYERS : 0);
    assert_int_equal(count(engine, SPARE_JUDGE), native ? SPARE_JUDGES : 0);
}

/* Refilling takes its time. */
static void await(kgrade *engine, unsigned python, unsigned python_judges)
{
    uint64_t deadline = io_now() + PATIENCE_NS;
    while ((count(engine, 0) < python || count(engine, SPARE_PYTHON_JUDGE) < python_judges ||
            count(engine, SPARE_RECORDER) < SPARE_RECORDERS ||
            count(engine, SPARE_REPLAYER) < SPARE_REPLAYERS ||
            count(engine, SPARE_JUDGE) < SPARE_JUDGES) &&
           io_now() < deadline)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    assert_waiting(engine, python, python_judges, true);
}

#define MAX_PIDS 64
struct pids {
    int list[MAX_PIDS];
    size_t n;
};

static bool is_worker(const char *pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
    FILE *file = fopen(path, "re");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    for (size_t i = 0; i < size; i++)
        text[i] = text[i] ? text[i] : ' ';
    text[size] = 0;
    return strstr(text, folder) && !strstr(text, "kgrade-spawner");
}

/* The processes of this installation, whatever the engine thinks of them. */
static struct pids workers(void)
{
    struct pids pids = {.n = 0};
    DIR *dir = opendir("/proc");
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) && pids.n < MAX_PIDS;)
        if (isdigit((unsigned char)e->d_name[0]) && is_worker(e->d_name))
            pids.list[pids.n++] = atoi(e->d_name);
    closedir(dir);
    return pids;
}

static const struct pids nobody;

static size_t n_in_common(const struct pids *a, const struct pids *b)
{
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < b->n; k++)
            n += a->list[i] == b->list[k];
    return n;
}

/* So many, of which at most `old` were there before: programs take their time to start, and to die. */
static struct pids await_workers(size_t n, const struct pids *before, size_t old)
{
    struct pids now = workers();
    for (uint64_t deadline = io_now() + PATIENCE_NS;
         (now.n != n || n_in_common(&now, before) > old) && io_now() < deadline; now = workers())
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    assert_int_equal(now.n, n);
    assert_true(n_in_common(&now, before) <= old);
    return now;
}

static kgrade *open_fake(const kgrade_options *options)
{
    kgrade *engine = open_engine_with(*options);
    put_device(engine, &device);
    assert_waiting(engine, 0, 0, false);
    return engine;
}

/* --- grades --- */

struct grading {
    kgrade *engine;
    char *source;
    kgrade_progress progress;
    bool told;
    json_t *result;
    pthread_t thread;
};

static void *grade(void *data)
{
    struct grading *g = data;
    g->result =
        grade_text(g->engine, &device, device.languages[0].name, g->source, g->progress, g, NULL);
    return NULL;
}

static struct grading grading(kgrade *engine, const char *more)
{
    return (struct grading){.engine = engine, .source = honest_source(more)};
}

/* What came of it is not what is tested here, and on a busy machine may be anything. */
static void end(struct grading *g)
{
    assert_non_null(g->result);
    json_decref(g->result);
    free(g->source);
}

/* While a grade is under way, before it has taken any worker, another one comes that is not built. */
static bool let_another_fail(void *data, const char *step, unsigned done, unsigned total)
{
    struct grading *g = data;
    (void)total;
    if (strcmp(step, "building") != 0 || done || g->told)
        return true;
    g->told = true;
    assert_waiting(g->engine, 0, 0, true);
    struct grading other = grading(g->engine, BROKEN);
    assert_int_equal(pthread_create(&other.thread, NULL, grade, &other), 0);
    pthread_join(other.thread, NULL);
    end(&other);
    /* The replayer that it asked what to compile for was its own, and the others are still there. */
    assert_int_equal(count(g->engine, SPARE_RECORDER), SPARE_RECORDERS);
    assert_int_equal(count(g->engine, SPARE_JUDGE), SPARE_JUDGES);
    return true;
}

static void without_keeping_nothing_is_left_after_the_last_grade(void **state)
{
    (void)state;
    kgrade *engine = open_fake(&(kgrade_options){.python = INTERPRETER});
    struct grading g = grading(engine, CRASH);
    g.progress = let_another_fail;
    grade(&g);
    end(&g);
    assert_waiting(engine, 0, 0, false);
    await_workers(0, &nobody, 0);
    assert_fails(engine, &device, BROKEN, "build_failed", NULL);
    assert_waiting(engine, 0, 0, false);
    await_workers(0, &nobody, 0);
    /* What was started for a check goes with it, too. */
    spares_renew(engine, engine_slot(engine, &device));
    assert_waiting(engine, 0, 0, true);
    spares_settle(engine, engine_slot(engine, &device));
    await_workers(0, &nobody, 0);
    kgrade_close(engine);
}

static void kept_ones_are_replaced_after_every_grade(void **state)
{
    (void)state;
    kgrade *engine = open_fake(&(kgrade_options){.keep_spares = true});
    assert_fails(engine, &device, BROKEN, "build_failed", NULL);
    await(engine, 0, 0);
    struct pids before = await_workers(N_NATIVE, &nobody, 0);

    struct grading both[] = {grading(engine, ""), grading(engine, CRASH)};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&both[i].thread, NULL, grade, &both[i]), 0);
    for (size_t i = 0; i < 2; i++)
        pthread_join(both[i].thread, NULL);
    end(&both[0]);
    end(&both[1]);
    /* A machine too busy for a check of the device is not what is tested here. */
    struct device_slot *slot = engine_slot(engine, &device);
    slot->health.quarantined = slot->health.suspect = false;
    spares_settle(engine, slot);
    await(engine, 0, 0);
    await_workers(N_NATIVE, &before, N_NATIVE - 1); /* what served a grade is gone */
    kgrade_close(engine);
    await_workers(0, &nobody, 0);
}

/* --- interpreters --- */

static void interpreters_wait_as_many_as_an_operator_wants(void **state)
{
    (void)state;
    kgrade *engine =
        open_fake(&(kgrade_options){.keep_spares = true,
                                    .python = "first=" INTERPRETER ":second=" INTERPRETER,
                                    .python_spares = N_PYTHON});
    struct device_slot *slot = engine_slot(engine, &device);
    const struct python *first = &engine->pythons.items[0];
    struct worker worker = WORKER_NONE;

    /* What one grade takes is started with it, the others when it is over; nothing that it has not asked for. */
    spares_begin(engine, slot, task_set_find(engine->tasks, TASK), first, false);
    assert_int_equal(count(engine, 0), SPARE_RECORDERS);
    assert_int_equal(worker_take(engine, &device, STEP_RECORD, first, &worker, NULL), 0);
    assert_int_equal(count(engine, 0), SPARE_RECORDERS - 1);
    worker_end(&worker);
    spares_over(engine, slot);
    uint64_t deadline = io_now() + PATIENCE_NS;
    while (count(engine, 0) < N_PYTHON && io_now() < deadline)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    assert_int_equal(count(engine, 0), N_PYTHON);
    assert_int_equal(count(engine, 1), 0);
    assert_int_equal(count(engine, SPARE_RECORDER), 0);
    assert_int_equal(count(engine, SPARE_PYTHON_JUDGE), 0);

    spares_ask_all(engine, slot);
    spares_settle(engine, slot);
    await(engine, N_PYTHON, (N_PYTHON + 1) / 2);
    assert_int_equal(count(engine, 1), N_PYTHON);

    /* A foreign task's judge is one of those that wait. */
    struct finding f = {.log = NULL};
    char *text = NULL;
    struct judge_client describer = JUDGE_NONE;
    assert_int_equal(
        judge_open_describer(engine, &device, judge_interpreter(engine), &describer, &f) ||
            judge_describe(&describer, "{}", &text, &f),
        1);
    judge_close(&describer);
    assert_string_equal(f.reason.code, "reference_failed");
    finding_free(&f);
    assert_int_equal(count(engine, SPARE_PYTHON_JUDGE), (N_PYTHON + 1) / 2 - 1);

    /* After a fault none of them is left. */
    struct pids before =
        await_workers(2 * N_PYTHON + (N_PYTHON + 1) / 2 - 1 + N_NATIVE, &nobody, 0);
    spares_renew(engine, slot);
    assert_waiting(engine, 0, 0, true);
    await_workers(N_NATIVE, &before, 0);
    spares_settle(engine, slot);
    await(engine, N_PYTHON, (N_PYTHON + 1) / 2);

    /* On a device that does not work nothing is started. */
    spares_end(slot);
    slot->health.quarantined = true;
    spares_begin(engine, slot, engine->tasks->tasks[0], NULL, false);
    spares_over(engine, slot);
    assert_waiting(engine, 0, 0, false);
    for (unsigned kind = 0; kind < SPARE_KINDS; kind++)
        assert_int_equal(slot->spares.owed[kind], 0);
    kgrade_close(engine);
    await_workers(0, &nobody, 0);
}

/* Of what a process writes there is one file for each. */
static ino_t identity(const struct worker *worker)
{
    struct stat st;
    assert_int_equal(fstat(worker->output, &st), 0);
    return st.st_ino;
}

static void the_oldest_is_taken_but_not_one_that_is_too_old(void **state)
{
    (void)state;
    kgrade *engine = open_fake(&(kgrade_options){.keep_spares = true});
    struct spares *spares = spares_of(engine);
    struct worker worker = WORKER_NONE;
    spares_renew(engine, engine_slot(engine, &device));
    struct spare *recorders[SPARE_RECORDERS] = {NULL};
    size_t n = 0;
    for (size_t i = 0; i < spares->n; i++)
        if (spares->items[i].worker.jail && spares->items[i].kind == SPARE_RECORDER)
            recorders[n++] = &spares->items[i];
    assert_int_equal(n, SPARE_RECORDERS);
    recorders[0]->started_ns = recorders[1]->started_ns + 1;
    ino_t oldest = identity(&recorders[1]->worker), other = identity(&recorders[0]->worker);
    assert_int_equal(worker_take(engine, &device, STEP_RECORD, NULL, &worker, NULL), 0);
    assert_true(identity(&worker) == oldest);
    worker_end(&worker);

    recorders[0]->started_ns = io_now() - SPARE_KEEP_NS;
    await_workers(N_NATIVE - 1, &nobody, 0);
    assert_int_equal(worker_take(engine, &device, STEP_RECORD, NULL, &worker, NULL), 0);
    assert_true(identity(&worker) != other);
    assert_int_equal(count(engine, SPARE_RECORDER), 0);
    worker_end(&worker);
    await_workers(N_NATIVE - SPARE_RECORDERS, &nobody, 0);
    kgrade_close(engine);
}

static void more_than_the_limit_is_no_option(void **state)
{
    (void)state;
    kgrade_error err = {.code = ""};
    kgrade *engine = NULL;
    kgrade_options options = {.prefix = folder, .python_spares = KGRADE_MAX_PYTHON_SPARES + 1};
    assert_int_equal(kgrade_open(&options, &engine, &err), -1);
    assert_string_equal(err.code, "bad_options");
    assert_non_null(strstr(err.message, "16"));
    engine = open_engine_with((kgrade_options){
        .keep_spares = true, .python = INTERPRETER, .python_spares = KGRADE_MAX_PYTHON_SPARES});
    assert_int_equal(engine_slot(engine, device_find("opencl"))->spares.n,
                     KGRADE_MAX_PYTHON_SPARES + KGRADE_MAX_PYTHON_SPARES / 2 + N_NATIVE);
    kgrade_close(engine);
}

/* --- the installation --- */

static void write_text(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(io_write_file(path, text, strlen(text), NULL), 0);
    assert_int_equal(chmod(path, 0644), 0);
}

static int install_python(void **state)
{
    static const char *const empty[] = {"kgrade-record-opencl-python.so",
                                        "kgrade-judge-opencl-python.so", "kgrade-python-opencl.py",
                                        "kgrade-python-describing.py"};
    static const char program[] = "import os\nos.read(3, 1)\n";
    static const char foreign[] =
        "{\"name\": \"far\", \"title\": \"Far\", \"entry\": \"f\", \"python\": {\"form\": \"data\","
        " \"files\": [\"a.py\"], \"inputs\": \"make\", \"reference\": \"answer\", \"seed\": 1,"
        " \"double\": true, \"variants\": [{\"inputs\": {}, \"data\": {}, \"outputs\": {}}]},"
        " \"parameters\": [{\"name\": \"x\", \"kind\": \"in\", \"dtype\": \"f32\", \"shape\": "
        "[\"5\"]},"
        " {\"name\": \"z\", \"kind\": \"out\", \"dtype\": \"f32\", \"shape\": [\"5\"]},"
        " {\"name\": \"variant\", \"kind\": \"dim\", \"dtype\": \"i64\"}],"
        " \"cases\": {\"correctness\": [{\"variant\": 0}], \"benchmark\": [{\"variant\": 0}]},"
        " \"tolerance\": {\"f32\": {\"absolute\": 0, \"relative\": 1e-6, \"norm\": 1e-6}},"
        " \"roofline\": {\"bytes\": \"20\", \"operations\": \"0\"}}";
    char path[256];
    if (set_up(state))
        return -1;
    device = opencl_as(false, true);
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        snprintf(path, sizeof path, "libexec/kgrade/%s", empty[i]);
        write_text(path, "");
    }
    write_text("libexec/kgrade/kgrade-python-boot.py", program);
    write_text("libexec/kgrade/kgrade-python-problem.py", program);
    snprintf(path, sizeof path, "%s/tasks/far", folder);
    assert_int_equal(io_make_dirs(path, NULL), 0);
    write_text("tasks/far/task.json", foreign);
    write_text("tasks/far/statement.md", "Far.\n");
    write_text("tasks/far/a.py", "pass\n");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_keeping_nothing_is_left_after_the_last_grade),
        cmocka_unit_test(kept_ones_are_replaced_after_every_grade),
        cmocka_unit_test(interpreters_wait_as_many_as_an_operator_wants),
        cmocka_unit_test(the_oldest_is_taken_but_not_one_that_is_too_old),
        cmocka_unit_test(more_than_the_limit_is_no_option),
    };
    if (!device_find("opencl") || access(INTERPRETER, X_OK)) {
        print_message("skipped: this build has no OpenCL device, or there is no " INTERPRETER "\n");
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, install_python, tear_down);
}
