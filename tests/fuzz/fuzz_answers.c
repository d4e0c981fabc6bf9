/*
 * The grader against workers that lie: a recorder, a replayer or a judge answers the grader's requests with whatever the
 * input holds.  Whatever they say, the grader comes to an end, blames nobody without a reason that can be written as
 * JSON, and tells nothing of hidden cases.
 *
 * Input: a byte for whom to play, then one answer per line: perhaps a \v for a descriptor that comes along, JSON, and
 * after a tab a blob; the blob "R" stands for the recording that was asked for, "W" for that of another call.
 *
 * No process is started: what takes a worker and waits for one is replaced by the linker's --wrap.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "grader/judge/judge.h"
#include "grader/record/record.h"
#include "grader/replay/replay.h"
#include "sandbox/base/cleanup.h"

#define CODE_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789_"
#define MAX_STREAM 16384u /* of which a socket takes all answers before they are read */
#define BATCHED 5u

/* The linker does not look at types; so the compiler does. */
__typeof__(worker_take) __wrap_worker_take;
__typeof__(jail_wait) __wrap_jail_wait;
__typeof__(jail_kill) __wrap_jail_kill;
__typeof__(jail_free) __wrap_jail_free;
__typeof__(jail_poll_fd) __wrap_jail_poll_fd;

static int answers; /* the grader's end of a socket in which all answers lie ready */
static uint8_t end; /* how the worker dies when they are used up */

int __wrap_worker_take(kgrade *engine, const struct device *device, enum device_step step,
                       const struct python *python, struct worker *ret, kgrade_error *err)
{
    (void)python;
    (void)engine;
    (void)device;
    (void)step;
    (void)err;
    *ret = (struct worker){.socket = answers, .output = -1};
    answers = -1;
    return 0;
}

int __wrap_jail_wait(struct jail *jail, uint64_t deadline, struct jail_status *ret,
                     kgrade_error *err)
{
    (void)jail;
    (void)deadline;
    (void)err;
    *ret =
        (struct jail_status){.end = (enum jail_end)(end % (JAIL_NOT_STARTED + 1)), .code = end / 8};
    if (ret->end == JAIL_NOT_STARTED)
        ret->error = (kgrade_error){"jail_failed", "The jail failed.", ""};
    return 0;
}

void __wrap_jail_kill(struct jail *jail)
{
    (void)jail;
}

void __wrap_jail_free(struct jail *jail)
{
    (void)jail;
}

int __wrap_jail_poll_fd(const struct jail *jail)
{
    static int readable = -1; /* at once: who has hung up is dead */
    (void)jail;
    if (readable < 0)
        readable = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    return readable;
}

static struct task *task;
static struct device device = {.name = "opencl", .runs_in_replayer = true};
static struct bytes good;  /* the recording that was asked for */
static struct bytes wrong; /* of another call */

static void record(const struct task_case *c, struct bytes *ret)
{
    struct recording *r = recording_new("opencl", task);
    require(r && recording_add_image(r, "opencl-c", "", "x", 1) == 0);
    struct recording_call *call = recording_add_call(r, c->dims);
    require(call && recording_add_node(call, NODE_EMPTY) && recording_write(r, ret, NULL) == 0);
    recording_free(r);
}

static void set_up(void)
{
    __wrap_jail_poll_fd(NULL); /* before descriptors are counted */
    require(task_load(KGRADE_SOURCE_DIR "/tasks/vector_add", &task, NULL) == 0);
    record(&task->cases[0], &good);
    record(&task->cases[1], &wrong);
}

static void put(int socket, const char *line, size_t size)
{
    cleanup_close int along = -1;
    if (size && line[0] == '\v') {
        along = open("/dev/null", O_RDONLY | O_CLOEXEC);
        line++, size--;
    }
    const char *tab = memchr(line, '\t', size);
    size_t length = tab ? (size_t)(tab - line) : size;
    struct bytes blob = {0};
    if (tab)
        blob = (struct bytes){(uint8_t *)(uintptr_t)(tab + 1), size - length - 1};
    if (blob.size == 1 && blob.data[0] == 'R')
        blob = good;
    if (blob.size == 1 && blob.data[0] == 'W')
        blob = wrong;
    json_t *json = json_loadb(line, length, 0, NULL);
    if (json_is_object(json))
        wire_send(socket, json, blob.data, blob.size, along, io_now() + IO_NS_PER_S, NULL);
    else
        json_decref(json);
}

/* The other end, which takes requests without looking at them. */
static int lay_ready(struct input *in)
{
    int pair[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    const char *at = (const char *)in->at, *stop = at + in->left;
    while (at < stop) {
        const char *newline = memchr(at, '\n', (size_t)(stop - at));
        const char *line_end = newline ? newline : stop;
        put(pair[0], at, (size_t)(line_end - at));
        at = newline ? newline + 1 : stop;
    }
    shutdown(pair[0], SHUT_WR);
    answers = pair[1];
    return pair[0];
}

static void check_reason(struct finding *f, bool failed, bool secret)
{
    if (failed) {
        json_auto_t *json = json_pack("{s:s, s:s, s:s}", "code", f->reason.code, "message",
                                      f->reason.message, "hint", f->reason.hint);
        require(json && f->reason.message[0] && f->verdict != KGRADE_ACCEPTED);
        require(f->reason.code[0] && f->reason.code[strspn(f->reason.code, CODE_LETTERS)] == 0);
        require(!secret || !strcmp(f->reason.code, "hidden_case_failed") || !f->told);
    }
    finding_free(f);
}

static void play_recorder(kgrade *engine, bool secret)
{
    struct finding f = {0};
    struct host_overhead overhead = {0};
    const struct bytes library = {(uint8_t *)(uintptr_t) "ELF", 3};
    const struct record_request request = {.device = &device,
                                           .task = task,
                                           .cases = task->cases,
                                           .n_cases = 1,
                                           .warm_calls = 2,
                                           .secret = secret,
                                           .library = &library};
    cleanup_recording struct recording *recording = recording_new("opencl", task);
    bool failed = record_cases(engine, &request, recording, &overhead, NULL, NULL, &f) != 0;
    require(failed || (recording->n_calls == 1 &&
                       recording_find_call(recording, task->cases[0].dims) != NULL));
    check_reason(&f, failed, secret);
}

static int talk(struct replay *r, kgrade *engine, struct finding *f)
{
    struct replay_time time;
    if (replay_open(engine, &device, task, task->cases, 1, r, f))
        return -1;
    require(json_is_object(r->info) && r->arena_fd >= 0 && replay_target(r));
    if (replay_give(r, &good, f) || replay_load(r, task, &task->cases[0], f) ||
        replay_prepare(r, 1, 2, true, f) || replay_run(r, false, &time, f) ||
        replay_run(r, true, &time, f))
        return -1;
    json_auto_t *answer = replay_ask(r, "ceilings", f);
    cleanup_bytes struct bytes code = {0};
    size_t n;
    double ns;
    if (!json_is_object(answer) || replay_pack(r, &code, f) || replay_confine(r, &code, f) ||
        replay_batch(r, BATCHED, 1, 2, false, &n, &ns, f))
        return -1;
    require(n <= BATCHED && ns >= 0 && (n > 0 || ns == 0));
    return 0;
}

static void play_replayer(kgrade *engine)
{
    struct finding f = {0};
    cleanup_replay struct replay r = REPLAY_NONE;
    check_reason(&f, talk(&r, engine, &f) != 0, false);
}

static void play_judge(void)
{
    struct finding f = {0};
    struct judgement judgement = {0};
    json_int_t id = 0;
    cleanup_judge struct judge_client judge = {
        .worker = {NULL, answers, -1}, .timeout_ns = 60 * IO_NS_PER_S, .inputs_fd = -1};
    answers = -1;
    bool failed = judge_snapshot(&judge, task, &task->cases[0], 1, 2, &id, &f) ||
                  judge_decide(&judge, id, &judgement, &f);
    require(failed || judgement.pass || judgement.code[0]);
    json_decref(judgement.correctness);
    check_reason(&f, failed, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static kgrade engine;
    struct input in = {data, size};
    if (!task)
        set_up();
    if (size > MAX_STREAM)
        return 0;
    unsigned before = count_descriptors();
    unsigned who = input_byte(&in) % 4;
    end = input_byte(&in);
    int other = lay_ready(&in);
    switch (who) {
    case 0:
    case 1:
        play_recorder(&engine, who == 1);
        break;
    case 2:
        play_replayer(&engine);
        break;
    default:
        play_judge();
        break;
    }
    if (answers >= 0)
        close(answers);
    close(other);
    require(count_descriptors() == before);
    return 0;
}
