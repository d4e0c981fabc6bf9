/*
 * Integer expressions over named dimensions, as task.json has them in shapes and roofline formulas:
 * + - * / (rounds towards minus infinity) %, parentheses, min(a,b), max(a,b), ceil_div(a,b),
 * decimal integers, names. 64-bit; overflow and division by zero are errors, never wrapped.
 */
#ifndef KGRADE_EXPR_H
#define KGRADE_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../sandbox/base/error.h"

#define EXPR_MAX_LENGTH 512
#define EXPR_MAX_DEPTH 32

struct expr;

struct expr_scope {
    const char *names[24];
    int64_t values[24];
    size_t n;
};

/* -1 with `expression_invalid`; the message points at the column. */
int expr_parse(const char *text, struct expr **ret, kgrade_error *err);
void expr_free(struct expr *expr);
const char *expr_text(const struct expr *expr);

/* -1 with `expression_invalid` for an unknown name, overflow or division by zero. */
int expr_eval(const struct expr *expr, const struct expr_scope *scope, int64_t *ret,
              kgrade_error *err);

/* Whether the expression uses a name that is not in scope; ret gets the first such name. */
bool expr_unknown_name(const struct expr *expr, const struct expr_scope *scope,
                       char ret[EXPR_MAX_LENGTH + 1]);

#endif
