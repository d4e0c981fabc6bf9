/*
 * Sampling a benchmark case: candidate and baseline alternate, each sample on inputs never used before, until the
 * interval of the pairs' ratio is narrow enough or a cap is reached.  Randomly chosen candidate samples are judged.
 * All of it in one pair of replayers; rounds.h is for several.
 */
#ifndef KGRADE_SAMPLING_H
#define KGRADE_SAMPLING_H

#include "../judge/judge.h"
#include "../replay/replay.h"
#include "statistics.h"

#define SAMPLING_DEFAULT_PRECISION                                                                 \
    0.005 /* half-width of the 95 % interval of the speedup, relative */
/* Half-width of the 95 % interval of the candidate's time, relative to the speedup's: 95 of 100 grades of one candidate then lie
 * within the precision of each other, where half-width is 1.96 standard errors and from the 5th to the 95th are 3.29. */
#define SAMPLING_TIME_PART 0.55
#define SAMPLING_DEFAULT_SAMPLES 400u
#define SAMPLING_DEFAULT_SECONDS 3.0
#define SAMPLING_MIN_SAMPLES 20u  /* before the stop rule is asked */
#define SAMPLING_WARMUPS 3u       /* of each side, not counted */
#define SAMPLING_MAX_VOIDS 50u    /* in a row */
#define SAMPLING_MAX_DROPPED 200u /* pairs that may have been disturbed */
/* Work of a candidate's process between its replays that is long enough to slow a baseline; waking up takes a tenth of it. */
#define SAMPLING_DISTURBED_NS 200e3
/* A kernel that skips its work in a part f of the replays moves the score from f = 0.3 on (Hodges and Lehmann's centre), and is
 * missed with (1 - f)^n for n judged samples: of the shortest measurement nine, which leaves 4 % at 0.3 and 0.2 % at a half;
 * of sixty samples about fourteen. */
#define SAMPLING_MAX_JUDGED 16u  /* per case; one of them is the last sample */
#define SAMPLING_JUDGED_EARLY 8u /* of the first SAMPLING_MIN_SAMPLES */
#define SAMPLING_JUDGE_ONE_IN 8u /* of those that follow */
#define SAMPLING_MAX_ROUNDS 3u
#define SAMPLING_NOISE_LIMIT 0.25 /* a wider interval than this is no result */
#define SAMPLING_MAX_KEPT 256u    /* samples of a side that a result shows; the figures use all */
/* The guard: how far the device's stamps may be from the grader's own clock. */
#define SAMPLING_GUARD_RELATIVE 0.25
#define SAMPLING_GUARD_NS 250e3
/* Stamps that could be bent do not stand when more than this could be hidden from the grader's clock: a machine so busy
 * that a twofold gain might be a lie gives no result. */
#define SAMPLING_BLIND_RELATIVE 1.0
#define SAMPLING_BLIND_NS 1e6

struct sampling_request {
    const kgrade_options *options;
    const struct task *task;
    const struct task_case *task_case;
    struct replay *candidate, *baseline; /* both have the case loaded; they may share an arena */
    struct judge_client *judge;          /* of the candidate's arena */
    bool cold;
    bool bendable; /* the candidate's kernels could bend the clock of their stamps */
    double resolution_ns;
    double floor_difference_ns; /* see floor.h; 0: the candidate's floor is the baseline's */
    /* Judges what the judge holds, because it has no room for more (cases of gigabytes); NULL: that is an error. */
    int (*decide)(void *data, const json_int_t *snapshots, size_t n, struct finding *finding);
    void *data;
    /* How many pairs of replayers share the least number of samples and those that are judged; 0: this one has all. */
    unsigned parts;
};

struct series {
    struct summary time; /* ns, floor subtracted */
    double floor_ns;
    size_t voids;
    /* The samples in the order in which they were taken, floor subtracted, spread over the clock's tick; when there were more
     * than SAMPLING_MAX_KEPT, that many at even distances. */
    double kept[SAMPLING_MAX_KEPT];
    size_t n_kept;
};

/* What one pair of replayers gave, where there were several. */
struct sampling_round {
    double speedup, low, high;
    bool counts; /* its samples are among those of the figures */
};

struct sampling {
    struct series candidate, baseline;
    double speedup, low, high; /* centre of the pairs' baseline/candidate and its 95 % interval */
    struct sampling_round rounds[SAMPLING_MAX_ROUNDS];
    size_t n_rounds;                               /* 0: there was one pair of replayers for all */
    const char *stopped;                           /* "precision", "samples" or "time" */
    json_int_t snapshots[SAMPLING_MAX_JUDGED + 1]; /* and the batch's last one */
    size_t n_snapshots;                            /* that the judge holds */
    size_t n_judged;      /* in all, with those that were decided on the way */
    size_t batch_replays; /* in a row, by the grader's own clock; 0: none were timed */
    double batch_ns;      /* of one of them */
    /* Non-empty when the figures cannot stand: verdict-giving code and message. */
    kgrade_verdict verdict;
    char code[48];
    char message[256];
};

/* Has the judge keep the sample of these seeds, which is the arena's last one. */
int sampling_keep_for_judge(const struct sampling_request *request, const uint64_t seeds[2],
                            struct sampling *ret, struct finding *finding);

/* Fills ret->kept from all samples of a side. */
void sampling_keep(const double *samples, size_t n, struct series *ret);

/* Says that the figures cannot stand, and why. */
void sampling_doubt(struct sampling *ret, kgrade_verdict verdict, const char *code,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* What an untrusted process would be blamed for is the task's fault when its baseline does it.  -1. */
int sampling_blame_baseline(const struct finding *inner, struct finding *finding);

int sampling_run(const struct sampling_request *request, struct sampling *ret,
                 struct finding *finding);

/* The same, and *pairs, which is made here and freed by the caller in any case, has the samples. */
struct pairs;
int sampling_take(const struct sampling_request *request, struct pairs *pairs, struct sampling *ret,
                  struct finding *finding);

#endif
