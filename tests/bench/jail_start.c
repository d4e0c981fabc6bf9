/*
 * What a jail costs: from jail_spawn to the first instruction of the program in it.  See README.md.
 *
 *     kgrade-bench-jail [STARTS]
 *
 * First the smallest program, for each level and policy.  Then the recorder of the OpenCL device, in a jail and without
 * one: it opens the device before it answers, which takes far longer than the jail, so the difference is what counts.
 * Last a candidate, from when the recorder has got it until its first instruction, which is in a constructor.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "grader/build/build.h"
#include "grader/grade/jails.h"
#include "grader/grade/workers.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/fail.h"

#define MAX_STARTS 100000u
#define TARGET_MS 15.0
#define WORKER_FD 3
#define WAIT_NS (60 * IO_NS_PER_S)

static void die(const kgrade_error *error)
{
    fprintf(stderr, "%s: %s %s\n", error->code, error->message, error->hint);
    exit(1);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts. */
static void print_row(const char *level, const char *what, double *ms, size_t n)
{
    size_t within = 0;
    qsort(ms, n, sizeof *ms, by_value);
    while (within < n && ms[within] <= TARGET_MS)
        within++;
    printf("%-8s %-50s %8.2f %8.2f %8.2f %6.1f%%\n", level, what, ms[(n - 1) / 2],
           ms[(size_t)lround(0.9 * (double)(n - 1))], ms[n - 1], 100 * (double)within / (double)n);
    fflush(stdout);
}

/* In ms. */
static double start_once(struct sandbox *sandbox, enum jail_policy policy)
{
    static const char *const argv[] = {"/payload", NULL}, *const env[] = {"HOME=/tmp", NULL};
    const struct jail_bind binds[] = {
        {.source = KGRADE_BENCH_PAYLOAD, .target = "/payload"},
        {.source = "/usr"},
        {.source = "/bin"},
        {.source = "/lib"},
        {.source = "/lib64", .optional = true},
        {.source = "/etc/ld.so.cache", .optional = true},
    };
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        abort();
    const struct jail_spec spec = {
        .policy = policy,
        .argv = argv,
        .env = env,
        .workdir = "/tmp",
        .binds = binds,
        .n_binds = sizeof binds / sizeof binds[0],
        .stdin_fd = -1,
        .stdout_fd = ends[1],
        .stderr_fd = -1,
        .limits = {.wall_ns = WAIT_NS, .tmp_bytes = 1u << 20, .processes = 16, .open_files = 64},
    };
    kgrade_error err;
    struct jail_status status;
    cleanup_jail struct jail *jail = NULL;
    uint64_t start = io_now(), then = 0;
    if (jail_spawn(sandbox, &spec, &jail, &err) ||
        jail_wait(jail, io_now() + WAIT_NS, &status, &err))
        die(&err);
    if (status.end == JAIL_NOT_STARTED)
        die(&status.error);
    close(ends[1]);
    if (read(ends[0], &then, sizeof then) != sizeof then)
        abort();
    close(ends[0]);
    return (double)(then - start) * 1e-6;
}

static void policies(const char *spawner, enum sandbox_level level, size_t n)
{
    static const char *const names[] = {"build", "record", "replay", "judge"};
    cleanup_free double *ms = calloc(n, sizeof *ms);
    struct sandbox *sandbox;
    const struct sandbox_options options = {.spawner = spawner, .level = level};
    kgrade_error err;
    if (sandbox_start(&options, &sandbox, &err))
        die(&err);
    for (int policy = JAIL_BUILD; policy <= JAIL_JUDGE; policy++) {
        char what[64];
        for (size_t i = 0; i < n; i++)
            ms[i] = start_once(sandbox, (enum jail_policy)policy);
        snprintf(what, sizeof what, "main() under the policy of %s", names[policy]);
        print_row(sandbox_level_name(level), what, ms, n);
    }
    sandbox_stop(sandbox);
}

/* Sends one request and waits for its answer, which may be a refusal. */
static void ask(struct worker *worker, json_t *request, int fd, json_t **ret)
{
    cleanup_outcome struct worker_outcome o;
    worker_request(worker, request, NULL, 0, fd, io_now() + WAIT_NS, &o);
    if (o.answer != WORKER_ANSWERED && o.answer != WORKER_REFUSED) {
        fprintf(stderr, "The recorder did not answer.\n");
        exit(1);
    }
    if (ret)
        *ret = json_incref(o.message.json);
}

static struct bytes compile(kgrade *engine, const struct device *device)
{
    static const char source[] =
        "#include <stdio.h>\n"
        "#include <time.h>\n"
        "__attribute__((constructor)) static void first(void)\n"
        "{\n"
        "    struct timespec t;\n"
        "    clock_gettime(CLOCK_MONOTONIC, &t);\n"
        "    fprintf(stderr, \"began %lld%09ld\\n\", (long long)t.tv_sec, t.tv_nsec);\n"
        "}\n"
        "void vector_add(void);\n"
        "void vector_add(void) {}\n";
    struct bytes library = {0};
    struct finding finding = {0};
    bool cached;
    if (build_candidate(engine, device, &device->languages[0], "", source, sizeof source - 1,
                        &library, &cached, &finding))
        die(&finding.reason);
    return library;
}

static double since(uint64_t start)
{
    return (double)(io_now() - start) * 1e-6;
}

/* When the candidate's constructor ran, in ms since it was handed over. */
static double load(struct worker *worker, const struct task *task, int library)
{
    json_auto_t *open = NULL, *loaded = NULL;
    ask(worker, json_pack("{s:s, s:s}", "op", "open", "task", task->text), -1, &open);
    uint64_t start = io_now();
    ask(worker, json_pack("{s:s}", "op", "load"), library, &loaded);
    if (!json_is_true(json_object_get(loaded, "ok"))) {
        fprintf(stderr, "%s\n", json_string_value(json_object_get(loaded, "message")));
        exit(1);
    }
    cleanup_free char *log = worker_log(worker);
    const char *began = log ? strstr(log, "began ") : NULL;
    if (!began)
        abort();
    return (double)(strtoull(began + strlen("began "), NULL, 10) - start) * 1e-6;
}

static void in_jail(kgrade *engine, const struct device *device, const struct task *task,
                    int library, double *ret_answer, double *ret_candidate)
{
    kgrade_error err;
    cleanup_worker struct worker worker = WORKER_NONE;
    uint64_t start = io_now();
    if (worker_start(engine, device, STEP_RECORD, NULL, WAIT_NS, &worker, &err))
        die(&err);
    ask(&worker, json_pack("{s:s}", "op", "nothing"), -1, NULL);
    *ret_answer = since(start);
    *ret_candidate = load(&worker, task, library);
}

static double without_jail(kgrade *engine, const struct device *device)
{
    char program[ENGINE_MAX_PATH];
    int pair[2];
    engine_program(engine, device->recorder, program);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        abort();
    uint64_t start = io_now();
    pid_t pid = vfork();
    if (pid == 0) {
        if (dup2(pair[1], WORKER_FD) != WORKER_FD || fcntl(WORKER_FD, F_SETFD, 0))
            _exit(126);
        execl(program, program, (char *)NULL);
        _exit(127);
    }
    close(pair[1]);
    cleanup_message struct wire_message answer = {.fd = -1};
    kgrade_error err;
    if (wire_send(pair[0], json_pack("{s:s}", "op", "nothing"), NULL, 0, -1, start + WAIT_NS,
                  &err) ||
        wire_receive(pair[0], &answer, start + WAIT_NS, &err))
        die(&err);
    double ms = since(start);
    close(pair[0]);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return ms;
}

static void recorder(kgrade *engine, size_t n)
{
    const struct device *device = device_find("opencl");
    const struct task *task = task_set_find(engine->tasks, "vector_add");
    if (!device || !task)
        return;
    kgrade_error err;
    cleanup_bytes struct bytes library = compile(engine, device);
    cleanup_close int fd = jails_memory_file("candidate.so", library.data, library.size, &err);
    cleanup_free double *inside = calloc(n, sizeof *inside), *outside = calloc(n, sizeof *outside),
                        *candidate = calloc(n, sizeof *candidate);
    if (fd < 0)
        die(&err);
    for (size_t i = 0; i < n; i++) {
        in_jail(engine, device, task, fd, &inside[i], &candidate[i]);
        outside[i] = without_jail(engine, device);
    }
    const char *level = sandbox_level_name(sandbox_level_of(engine->sandbox));
    print_row(level, "recorder: first answer", inside, n);
    print_row("none", "recorder: first answer", outside, n);
    printf("%-8s %-50s %8.2f\n", level, "the difference of the medians",
           inside[(n - 1) / 2] - outside[(n - 1) / 2]);
    print_row(level, "candidate: first instruction, from its loading on", candidate, n);
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;
    if (n < 1 || n > MAX_STARTS) {
        fprintf(stderr, "usage: kgrade-bench-jail [STARTS]\n");
        return 2;
    }
    const kgrade_options options = {.prefix = KGRADE_BUILD_DIR, .allow_reduced = true};
    kgrade *engine;
    kgrade_error err;
    char spawner[ENGINE_MAX_PATH];
    if (kgrade_open(&options, &engine, &err))
        die(&err);
    engine_program(engine, "kgrade-spawner", spawner);
    printf("%zu starts each, one after the other, from jail_spawn on; ms\n", n);
    printf("%-8s %-50s %8s %8s %8s %7s\n", "level", "until", "p50", "p90", "max", "<= 15");
    if (sandbox_level_of(engine->sandbox) == SANDBOX_FULL)
        policies(spawner, SANDBOX_FULL, n);
    policies(spawner, SANDBOX_REDUCED, n);
    recorder(engine, n);
    kgrade_close(engine);
    return 0;
}
