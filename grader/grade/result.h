/* The result of a grade, in the making.  Schema: kgrade.grade/1, grader/grade.schema.json. */
#ifndef KGRADE_RESULT_H
#define KGRADE_RESULT_H

#include "../measure/roofline.h"
#include "../measure/sampling.h"
#include "../record/record.h"

struct kgrade_result {
    kgrade_verdict verdict;
    double score;
    char *json;
    struct bytes recording;
};

/* Figures of one case while a grade runs. */
struct case_result {
    const struct task_case *task_case;
    bool judged; /* at least one sample was */
    bool pass;
    char code[48];
    unsigned judged_samples;
    json_t *correctness; /* of the worst sample; owned */
    bool recorded;
    struct host_overhead overhead;
    bool sampled;
    struct sampling sampling;
    struct roofline roofline;
};

/* Takes a judgement (and its figures) into a case. */
void case_result_judge(struct case_result *result, struct judgement *judgement);

/* One element of "cases".  New reference. */
json_t *case_result_json(const struct case_result *result, const struct task *task,
                         const json_t *info);

/* "environment": what the replayer says, the isolation level, this machine, versions.  New reference. */
json_t *result_environment(const json_t *info, enum sandbox_level level);

#endif
