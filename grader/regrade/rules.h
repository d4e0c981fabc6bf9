/*
 * What leaderboards make of times: their rules, applied to ours.
 *
 * A new table means what the old one meant only if the figure in it is formed the same way.  So each rule here takes what
 * kgrade measured and comes to the figure that the board would have shown: seconds, a score, a share of problems.  A board
 * that averages repetitions of one case gets kgrade's median of that case; what is formed from cases, and from problems, is
 * as the board's own code has it.  Where that code comes to nonsense (a time of -1 in a geometric mean), what is done instead
 * is said at the function.
 *
 * The functions are pure.  "None" is NaN.  Every rule rises or falls with each of its figures, so the ends of a figure's
 * interval are the rule of all the low ends and the rule of all the high ends: the cases are taken to err together, as they do
 * when a clock is low.  That is wider than errors that cancel would be, and never makes a difference out of noise.
 */
#ifndef KGRADE_REGRADE_RULES_H
#define KGRADE_REGRADE_RULES_H

#include <stdbool.h>
#include <stddef.h>

/* A figure and the ends of its interval, low <= value <= high; all three NaN: none. */
struct rule_span {
    double value, low, high;
};

struct rule_span rule_none(void);
/* An interval of nothing. */
struct rule_span rule_exactly(double value);
bool rule_is_some(const struct rule_span *span);

/* One benchmark case of an accepted candidate. */
struct rule_case {
    struct rule_span seconds; /* the candidate's device time */
    struct rule_span speedup; /* the baseline's device time / the candidate's, measured in pairs */
};

enum rule_unit { RULE_SECONDS, RULE_SPEEDUP, RULE_SCORE };

/* How far a candidate came. */
enum rule_outcome { RULE_NOT_BUILT, RULE_WRONG, RULE_RIGHT };

/* How one figure is made of several. */
enum rule_form { RULE_LAST, RULE_MEAN, RULE_GEOMETRIC, RULE_ARENA };

/* From the cases of one candidate to its figure. */
struct rule {
    const char *name; /* as in struct regrade_source */
    enum rule_form form;
    enum rule_unit unit;
    bool lower_is_better;
    bool
        over_problems; /* the board ranks who entered by what is made of all problems, not single candidates */
    const char *says; /* a sentence for people, without capital and full stop */
};

/*
 * last, mean, geom    GPU MODE (kernelbot's compute_score); `last` ranks by the last benchmark alone
 * fast_p              KernelBench's T_ref / T of a problem; where ours has several cases their geometric mean
 * arena, arena_pr77   AgentKernelArena's score, on its main branch and with its pull request 77
 * speedup_factor      flashinfer-bench: mean over the workloads
 * score               geometric mean of the speedups, ours
 *
 * NULL: there is none of that name. */
const struct rule *rule_find(const char *name);

/* The figure.  Only RULE_RIGHT has one by most rules; arena scores what only compiles, too.  No cases, or a case without the
 * figure that the rule needs: none. */
struct rule_span rule_apply(const struct rule *rule, enum rule_outcome outcome,
                            const struct rule_case *cases, size_t n);

/* ---- KernelBench: a run over the problems of a level (src/kernelbench/score.py) ---- */

#define RULE_FAST_P 6
extern const double rule_fast_p[RULE_FAST_P]; /* 0, 0.5, 0.8, 1, 1.5, 2 */

struct rule_problem {
    bool has_baseline;        /* a problem without one leaves n */
    bool right;               /* false too for a problem that the run did not try */
    struct rule_span speedup; /* none: right, but never timed */
};

struct rule_run {
    size_t n;       /* problems with a baseline */
    size_t right;   /* of those */
    size_t untimed; /* right, but never timed */
    struct rule_span fast[RULE_FAST_P];
    struct rule_span
        geometric_mean; /* over the right and timed ones; 0 without any, as in the original */
};

/* fast_p = #(right and T_ref/T > p) / n.  What was never timed is not faster than any p, as in the original, where its time is
 * -1; from the geometric mean, whose sign the original would let it turn, it is left out.  n 0: fast_p is 0. */
void rule_kernelbench(const struct rule_problem *problems, size_t n, struct rule_run *ret);

/* ---- AgentKernelArena (src/score.py, src/testcases.py, src/postprocessing.py) ---- */

enum rule_arena { RULE_ARENA_MAIN, RULE_ARENA_77 };

/* A case of the baseline and the same case of the candidate, as the board matched them; a side that has no match: NaN. */
struct rule_pair {
    double base_ms, optimised_ms;
    const char *base_method, *optimised_method; /* benchmark_method; NULL: not said */
};

/* S, the mean over the cases of base / optimised.  0 when a case has no match, or a time that is no number above 0; with
 * RULE_ARENA_77 also when the two sides of a case were not timed by the same method, cuda_graph or cuda_event_fallback. */
double rule_arena_speedup(enum rule_arena which, const struct rule_pair *pairs, size_t n);

/* 0 not built, 20 wrong, else 120 + 100 S.  Where S is refused (0), main falls back to mean base / mean optimised, #77 gives 120. */
double rule_arena_score(enum rule_arena which, enum rule_outcome outcome, double base_mean_ms,
                        double optimised_mean_ms, double speedup);

struct rule_arena_stats {
    double mean, median, deviation, p25, p75, p90;
};

/* What postprocessing.py says of a run's speedups: sample standard deviation, quantiles as Python's statistics.quantiles has them
 * ("exclusive": of few samples the outer ones lie beyond the extremes).  All 0 without samples.  sorted: ascending. */
void rule_arena_stats(const double *sorted, size_t n, struct rule_arena_stats *ret);

#endif
