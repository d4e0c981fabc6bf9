#define _GNU_SOURCE
#include "workers.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "jails.h"
#include "spec.h"
#include "timeline.h"

#define LOADER_FAILED 127 /* what the dynamic loader exits with when a library is missing */
#define DEATH_WAIT_NS (10 * IO_NS_PER_S)
#define HANG_UP_WAIT_NS                                                                            \
    (2 * IO_NS_PER_S) /* from the end of a connection to the end of its process */

int worker_start(kgrade *engine, const struct device *device, enum device_step step,
                 const struct python *python, uint64_t wall_ns, struct worker *ret,
                 kgrade_error *err)
{
    struct spec_command command;
    struct jail_bind binds[JAIL_MAX_BINDS];
    const char *env[SPEC_MAX_VARIABLES];
    spec_command(engine, device, step, python, &command);
    enum device_step jail = spec_jail(step, python);
    size_t n = spec_binds(device, jail, binds);
    n += spec_command_binds(&command, python, binds + n, JAIL_MAX_BINDS - n);
    if (n == JAIL_MAX_BINDS)
        return fail(err, "too_many_binds", NULL, "The jail of %s would need more than %d binds.",
                    command.program, JAIL_MAX_BINDS - 1);
    spec_command_environment(&command, device, jail, env);

    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return fail_errno(err, "io_failed", NULL, "A socket pair could not be made");
    cleanup_close int ours = pair[0], theirs = pair[1];
    cleanup_close int output = jails_output_file(err);
    if (output < 0)
        return -1;
    const struct jail_spec spec = {.policy = spec_policy(device, jail),
                                   .argv = command.argv,
                                   .env = env,
                                   .workdir = "/tmp",
                                   .binds = binds,
                                   .n_binds = n,
                                   .stdin_fd = -1,
                                   .stdout_fd = output,
                                   .stderr_fd = output,
                                   .fds = &theirs,
                                   .n_fds = 1,
                                   .limits = spec_limits(device, step, python, wall_ns)};
    if (jail_spawn(engine->sandbox, &spec, &ret->jail, err))
        return -1;
    ret->socket = steal_fd(&ours);
    ret->output = steal_fd(&output);
    return 0;
}

void worker_end(struct worker *worker)
{
    jail_free(worker->jail);
    worker->jail = NULL;
    if (worker->socket >= 0)
        close(worker->socket);
    if (worker->output >= 0)
        close(worker->output);
    worker->socket = worker->output = -1;
}

void worker_bury(struct worker *worker, struct graves *graves)
{
    static const struct worker none = WORKER_NONE;
    if (!worker->jail)
        return worker_end(worker);
    jail_kill(worker->jail);
    if (graves->n == GRAVES_MAX)
        graves_wait(graves);
    graves->workers[graves->n++] = *worker;
    *worker = none;
}

void graves_wait(struct graves *graves)
{
    struct timeline timeline;
    if (!graves->n)
        return;
    timeline_begin(&timeline, "graves");
    for (size_t i = 0; i < graves->n; i++)
        worker_end(&graves->workers[i]);
    graves->n = 0;
    timeline_end(&timeline);
}

void worker_outcome_free(struct worker_outcome *outcome)
{
    wire_message_free(&outcome->message);
}

/* Whether something can be read before the deadline; false also when the wait was cancelled. */
static bool wait_for_answer(const struct worker *worker, uint64_t deadline, bool *ret_cancelled)
{
    if (worker->awake_ns && io_await_awake(worker->socket, worker->awake_ns))
        return true;
    for (;;) {
        struct pollfd p = {.fd = worker->socket, .events = POLLIN};
        if (poll(&p, 1, io_poll_timeout(jails_next_question(deadline))) > 0)
            return true;
        *ret_cancelled = !jails_go_on();
        if (*ret_cancelled || io_now() >= deadline)
            return false;
    }
}

/* Whether a worker that has hung up ends by itself; one that lives on is up to something. */
static bool is_gone(const struct worker *worker)
{
    struct pollfd p = {.fd = jail_poll_fd(worker->jail), .events = POLLIN};
    return poll(&p, 1, io_poll_timeout(io_now() + HANG_UP_WAIT_NS)) > 0;
}

/* The worker is gone or must go: learns how it ended. */
static void settle(struct worker *worker, struct worker_outcome *ret)
{
    kgrade_error err = {.code = ""};
    if (jail_wait(worker->jail, io_now() + DEATH_WAIT_NS, &ret->status, &err)) {
        ret->status.end = JAIL_NOT_STARTED;
        ret->status.error = err;
    }
}

/* failed, err: of sending the request. */
static void hear(struct worker *worker, int failed, kgrade_error err, uint64_t deadline,
                 struct timeline *timeline, struct worker_outcome *ret)
{
    *ret = (struct worker_outcome){.message = {.fd = -1}};
    bool cancelled = false;
    while (!failed) {
        wire_message_free(&ret->message);
        /* Past the deadline, receiving says so itself. */
        wait_for_answer(worker, deadline, &cancelled);
        if (cancelled)
            break;
        failed = wire_receive(worker->socket, &ret->message, deadline, &err);
        if (failed)
            break;
        const char *stage = json_string_value(json_object_get(ret->message.json, "stage"));
        if (stage) {
            snprintf(ret->stage, sizeof ret->stage, "%.31s", stage);
            timeline_stage(timeline, ret->stage);
            continue;
        }
        json_t *ok = json_object_get(ret->message.json, "ok");
        if (json_is_boolean(ok)) {
            ret->answer = json_is_true(ok) ? WORKER_ANSWERED : WORKER_REFUSED;
            return;
        }
        failed = fail(&err, "wire_invalid", NULL, "An answer has no \"ok\".");
    }
    if (cancelled)
        ret->answer = WORKER_CANCELLED;
    else if (failed < 0 && !strcmp(err.code, "io_timeout"))
        ret->answer = WORKER_LATE;
    else if (failed < 0 &&
             (!strcmp(err.code, "wire_invalid") || !strcmp(err.code, "out_of_memory")))
        ret->answer = WORKER_GARBLED;
    else
        ret->answer = WORKER_DIED;
    if (ret->answer == WORKER_DIED && !is_gone(worker))
        ret->answer = WORKER_GARBLED;
    if (ret->answer != WORKER_DIED)
        jail_kill(worker->jail);
    settle(worker, ret);
    if (ret->answer == WORKER_DIED && ret->status.end == JAIL_DEADLINE)
        ret->answer = WORKER_LATE;
}

void worker_request(struct worker *worker, json_t *request, const void *blob, size_t blob_size,
                    int fd, uint64_t deadline, struct worker_outcome *ret)
{
    struct timeline timeline;
    kgrade_error err = {.code = ""};
    const char *op = json_string_value(json_object_get(request, "op"));
    timeline_begin(&timeline, op ? op : "?");
    int failed = wire_send(worker->socket, request, blob, blob_size, fd, deadline, &err);
    hear(worker, failed, err, deadline, &timeline, ret);
    timeline_end(&timeline);
}

void worker_ask(struct worker *worker, json_t *request, const void *blob, size_t blob_size,
                uint64_t deadline, struct worker_question *ret)
{
    ret->error = (kgrade_error){.code = ""};
    ret->failed = wire_send(worker->socket, request, blob, blob_size, -1, deadline, &ret->error);
}

void worker_hear(struct worker *worker, const struct worker_question *question, uint64_t deadline,
                 struct worker_outcome *ret)
{
    struct timeline timeline;
    timeline_begin(&timeline, "hear");
    hear(worker, question->failed, question->error, deadline, &timeline, ret);
    timeline_end(&timeline);
}

int worker_fault(const struct worker_outcome *o, const char *who, struct finding *finding)
{
    const json_t *json = o->message.json;
    const char *code = json_string_value(json_object_get(json, "code"));
    switch (o->answer) {
    case WORKER_REFUSED:
        return finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, code ? code : "worker_failed",
                           json_string_value(json_object_get(json, "hint")), "%s",
                           json_string_value(json_object_get(json, "message")));
    case WORKER_LATE:
        return finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, "worker_timeout",
                           "Try again; raise the timeout if it stays.",
                           "The %s did not answer in time.", who);
    case WORKER_DIED:
        if (o->status.end == JAIL_NOT_STARTED)
            return finding_infrastructure(finding, &o->status.error);
        if (o->status.end == JAIL_EXITED && o->status.code == LOADER_FAILED)
            return finding_set(
                finding, KGRADE_INFRASTRUCTURE_ERROR, "device_unavailable",
                "Install the device's driver; `kgrade doctor` shows what is missing.",
                "The device's %s cannot start here: its libraries are missing.", who);
        return finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, "worker_died",
                           "Run `kgrade doctor`.", "The %s ended unexpectedly (%s %d).", who,
                           o->status.end == JAIL_SIGNALLED ? "signal" : "status", o->status.code);
    case WORKER_CANCELLED:
        return finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, "cancelled", NULL,
                           "The grade was cancelled.");
    case WORKER_ANSWERED:
    case WORKER_GARBLED:
        break;
    }
    return finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, "worker_garbled",
                       "Run `kgrade doctor`.", "The %s sent something that is not a message.", who);
}

char *worker_log(const struct worker *worker)
{
    return jails_log(worker->output);
}
