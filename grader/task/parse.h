/* The halves of the task loader. */
#ifndef KGRADE_PARSE_H
#define KGRADE_PARSE_H

#include "reader.h"
#include "task.h"

/* A member that must be a C identifier.  *ret is owned by the caller. */
int parse_identifier(struct reader *r, const json_t *object, const char *key, char **ret);

/* Fills task->params, n_params and n_dims from $.parameters.  Also on failure everything in task
 * can be freed. */
int parse_parameters(struct reader *r, const json_t *root, struct task *task);

/* Fills the cases and hidden ranges from $.cases, and proves every case: shapes and roofline
 * formulas have values, sizes are inside the limits. */
int parse_cases(struct reader *r, const json_t *root, struct task *task);

/* The object at "values" of a parameter, or at the parameter's name in "other_values" of a hidden range: how the values of
 * a buffer of this type are drawn. */
int parse_distribution(struct reader *r, const json_t *object, const char *key, enum dtype dtype,
                       struct distribution *ret);

/* "devices": ["cuda", ...] -> "cuda ..."; "" when the key is absent. */
int parse_devices(struct reader *r, const json_t *object, char ret[64]);

#endif
