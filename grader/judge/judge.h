/* The judge step, seen from outside the jail. */
#ifndef KGRADE_JUDGE_H
#define KGRADE_JUDGE_H

#include "../grade/workers.h"
#include "../replay/replay.h"

/* A judge at work for one arena.  Initialise with JUDGE_NONE. */
struct judge_client {
    struct worker worker;
    uint64_t timeout_ns; /* of one answer */
    uint64_t budget_ns;  /* of all answers, also of judges that follow in this one's place */
    uint64_t used_ns;    /* of that, so far */
    int inputs_fd; /* of a foreign task: the memory file that it makes inputs in; -1: none yet */
    bool inputs_sent;
    bool fills;   /* it makes them in the arena, and there is no such file */
    bool foreign; /* it runs a task's Python, which may do anything */
};

#define JUDGE_NONE                                                                                 \
    {                                                                                              \
        .worker = WORKER_NONE, .inputs_fd = -1                                                     \
    }

/* `target`: as the device's replayer gave it, or "" where the device has no reference of its own.  A timeout_ns or budget_ns
 * that is 0 becomes the default.  When the budget is used up, this and all that follow fail with `judging_too_slow`. */
int judge_open(kgrade *engine, const struct device *device, const char *target,
               const struct task *task, int arena_fd, struct judge_client *ret,
               struct finding *finding);

/* The interpreter that runs the Python of foreign tasks; NULL: none is named. */
const struct python *judge_interpreter(const kgrade *engine);

/* Whether the device has a judge for them. */
bool judge_takes_python(const struct device *device);

/* The same judge for another arena of the same task, on a device without a reference of its own.  Snapshots that it holds stay. */
int judge_move(struct judge_client *judge, int arena_fd, struct finding *finding);

/* From now on a replayer gets the inputs of its samples from this judge, which makes them; nothing for a task that is not
 * foreign, and for a replayer that does not run.  `cases`: all that will be loaded.  The judge must outlive the replayer's
 * samples.  On devices that share arenas the replayer's is the one that the judge was opened with. */
int judge_feed(struct judge_client *judge, const struct task *task, const struct task_case *cases,
               size_t n_cases, struct replay *replay, struct finding *finding);

/* Writes the inputs of a sample of a foreign task into an arena, by layout; fd -1: the judge's. */
int judge_inputs(struct judge_client *judge, const struct task *task, const struct task_case *c,
                 uint64_t seed, int fd, struct finding *finding);

/* An interpreter that judge_describe can ask, when it has imported what problems will want. */
int judge_open_describer(kgrade *engine, const struct device *device, const struct python *python,
                         struct judge_client *ret, struct finding *finding);

/* What a problem's Python gives, as task.json; `problem`: problem.json with its files, for python/problem.py.  Once for each
 * describer.  *ret: the caller frees. */
int judge_describe(struct judge_client *describer, const char *problem, char **ret,
                   struct finding *finding);

/* Copies the case out of the arena; *ret_id names the snapshot for judge_decide. */
int judge_snapshot(struct judge_client *judge, const struct task *task, const struct task_case *c,
                   uint64_t seed, uint64_t poison, json_int_t *ret_id, struct finding *finding);

struct judgement {
    bool pass;
    char code[48];       /* when not pass */
    json_t *correctness; /* figures; owned */
};

int judge_decide(struct judge_client *judge, json_int_t id, struct judgement *ret,
                 struct finding *finding);

/* Inputs that differ from those of the seed: one parameter (SIZE_MAX: none) drawn from another seed, floating-point values
 * rounded to some explicit bits of the mantissa (0: as they are). */
struct judge_twist {
    size_t param;
    uint64_t seed;
    unsigned mantissa_bits;
};

/* Writes the outputs that a perfect kernel would write into an arena.  twist NULL: from the inputs of the seed. */
int judge_answer(struct judge_client *judge, const struct task *task, const struct task_case *c,
                 uint64_t seed, const struct judge_twist *twist, int arena_fd,
                 struct finding *finding);

void judge_close(struct judge_client *judge);
#define cleanup_judge __attribute__((cleanup(judge_close)))

#endif
