/* The replay step, seen from outside the jail. */
#ifndef KGRADE_REPLAY_H
#define KGRADE_REPLAY_H

#include "../grade/jails.h"

/* A replayer at work for one grade.  Initialise with REPLAY_NONE. */
struct replay {
    struct worker worker;
    int arena_fd;
    json_t *info;        /* what the replayer says of the hardware */
    uint64_t timeout_ns; /* of one request */
};

#define REPLAY_NONE                                                                                \
    {                                                                                              \
        WORKER_NONE, -1, NULL, 0                                                                   \
    }

/* Starts a replayer whose arena holds the largest of the cases.  A timeout_ns that is 0 becomes the engine's. */
int replay_open(kgrade *engine, const struct device *device, const struct task *task,
                const struct task_case *cases, size_t n_cases, struct replay *ret,
                struct finding *finding);

/* Hands over the recording, once. */
int replay_give(struct replay *replay, const struct bytes *recording, struct finding *finding);

/* Rebuilds the call of a case. */
int replay_load(struct replay *replay, const struct task *task, const int64_t *dims,
                struct finding *finding);

int replay_prepare(struct replay *replay, uint64_t seed, uint64_t poison, bool cold,
                   struct finding *finding);

struct replay_time {
    double ns;      /* the device's stamps, floor included */
    double wall_ns; /* the grader's own clock around the request: the guard */
    bool is_void;
};
int replay_run(struct replay *replay, bool empty, struct replay_time *ret, struct finding *finding);

/* What to compile for, or "". */
const char *replay_target(const struct replay *replay);

/* New reference, or NULL with the finding filled. */
json_t *replay_ask(struct replay *replay, const char *op, struct finding *finding);

void replay_close(struct replay *replay);
#define cleanup_replay __attribute__((cleanup(replay_close)))

#endif
