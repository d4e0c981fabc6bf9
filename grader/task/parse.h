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

/*
 * Takes $.python, if there is one: the functions of a foreign task and what is known of what they give.
 *
 *   form       "data": entry(data); "arguments": entry(*inputs); "model": entry(*init)(*inputs)
 *   files      Python files of the folder; the first has the functions, the others can be imported by it
 *   inputs     function that makes the inputs
 *   reference  function, or for a model the class
 *   init       function that gives the arguments of a model's construction; optional
 *   check      function that decides, in place of the tolerance; optional
 *   seed       under which models are made
 *   seeds      the largest that inputs are made with; optional
 *   double     whether the reference is computed in double precision
 *   variants   what the first dim, "variant", chooses from; each {"inputs": keyword arguments, "data": STRUCTURE,
 *              "outputs": STRUCTURE, "init": STRUCTURE}
 *
 * A STRUCTURE is {"buffer": PARAMETER}, with "order": the axes of a view of it, or "shape": what the check expects, {"value": number, text, true, false or null},
 * {"list": [..]}, {"tuple": [..]} or {"dict": {..}}.  Only Python looks into it.
 */
int parse_python(struct reader *r, const json_t *root, struct task *task);

/* After the cases: every one has a variant. */
int parse_check_variants(struct reader *r, const struct task *task);

/* "devices": ["cuda", ...] -> "cuda ..."; "" when the key is absent. */
int parse_devices(struct reader *r, const json_t *object, char ret[64]);

#endif
