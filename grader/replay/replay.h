/* The replay step, seen from outside the jail. */
#ifndef KGRADE_REPLAY_H
#define KGRADE_REPLAY_H

#include "../grade/workers.h"

/* Makes the inputs of a sample of a case where a replayer takes them from; see judge_feed. */
typedef int replay_feeder(void *data, const struct task *task, const struct task_case *c,
                          uint64_t seed, struct finding *finding);

/* A replayer at work for one grade.  Initialise with REPLAY_NONE. */
struct replay {
    struct worker worker;
    const struct device *device;
    int arena_fd;
    json_t *info;             /* what the replayer says of the hardware */
    uint64_t timeout_ns;      /* of one request */
    uint64_t workspace_bytes; /* of its arena */
    bool has_recording;       /* until then nothing is a candidate's fault */
    /* Of a foreign task: */
    replay_feeder *feeder; /* NULL: the replayer draws inputs itself */
    void *feeder_data;
    const struct task *task; /* that is loaded, and its case; borrowed, the case copied */
    struct task_case at;
};

#define REPLAY_NONE                                                                                \
    {                                                                                              \
        .worker = WORKER_NONE, .arena_fd = -1                                                      \
    }

/* Starts a replayer whose arena holds the largest of the cases.  A timeout_ns that is 0 becomes the engine's, a
 * workspace_bytes that is 0 what spec_workspace says of a candidate in the device's own language. */
int replay_open(kgrade *engine, const struct device *device, const struct task *task,
                const struct task_case *cases, size_t n_cases, struct replay *ret,
                struct finding *finding);

/* Starts a replayer that works in the arena of another, on a device that shares arenas.  Each draws its inputs and restores its
 * workspace before a replay, so they need only take turns. */
int replay_open_beside(kgrade *engine, const struct task *task, const struct replay *owner,
                       struct replay *ret, struct finding *finding);

/* Hands over the recording, once. */
int replay_give(struct replay *replay, const struct bytes *recording, struct finding *finding);

/*
 * Where kernels are native code of the replayer (runs_in_replayer), two kinds of replayer share the work, so that no
 * code of a candidate runs beside or after its kernels while they are timed.  The first may compile; it checks what is
 * right, takes no times, and dies with everything that kernels may have started in it.  Those that are timed get the compiled
 * code from it, and can start neither process nor thread; a kernel that tries ends its replayer:
 * `replay_forbidden_call`.
 */

/* The code of all calls that have been replayed; *ret is the caller's.  Empty where there is no need of it. */
int replay_pack(struct replay *replay, struct bytes *ret, struct finding *finding);

/* Before replay_give.  Nothing where there is no need of it. */
int replay_confine(struct replay *replay, const struct bytes *code, struct finding *finding);

/* Inputs come from a memory file, which the feeder writes before each sample; inputs_fd -1: from the arena, where it does. */
int replay_feed(struct replay *replay, int inputs_fd, replay_feeder *feeder, void *data,
                struct finding *finding);

/* The feeder is gone: a sample that wants inputs of it fails with `no_inputs`, until replay_feed names another. */
void replay_starve(struct replay *replay);

/* Rebuilds the call of a case; the task is borrowed. */
int replay_load(struct replay *replay, const struct task *task, const struct task_case *c,
                struct finding *finding);

int replay_prepare(struct replay *replay, uint64_t seed, uint64_t poison, bool cold,
                   struct finding *finding);

struct replay_time {
    double ns;      /* the device's stamps, floor included */
    double wall_ns; /* the grader's own clock around the request: the guard */
    bool is_void;
    double left_ns; /* what a thread of the replayer worked since its last replay */
};
int replay_run(struct replay *replay, bool empty, struct replay_time *ret, struct finding *finding);

/* n replays back to back, or with empty set the same without the call; the last one's outputs are those of seed and poison.
 * *ret_n: how many there were, at most n; 0 where it cannot be done.  *ret_wall_ns: all of them by the grader's own clock. */
int replay_batch(struct replay *replay, size_t n, uint64_t seed, uint64_t poison, bool empty,
                 size_t *ret_n, double *ret_wall_ns, struct finding *finding);

/* What to compile for, or "". */
const char *replay_target(const struct replay *replay);

/* The smallest step of the clock of its stamps. */
double replay_resolution_ns(const struct replay *replay);

/* New reference, or NULL with the finding filled. */
json_t *replay_ask(struct replay *replay, const char *op, struct finding *finding);

void replay_close(struct replay *replay);
#define cleanup_replay __attribute__((cleanup(replay_close)))

#endif
