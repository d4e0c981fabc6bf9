/*
 * An expression of a task.json and the values of its names, against an evaluator that is as plain as can be: both must
 * take the same texts and come to the same number, or both to none.
 *
 * Input: the values of n, m and k_1 as three 64-bit numbers, then the text.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <ctype.h>

#include "grader/task/expr.h"
#include "sandbox/base/cleanup.h"

/* Any value of it leaves room for one operation on two 64-bit numbers. */
typedef __int128 wide;

struct plain {
    const char *at;
    const struct expr_scope *scope;
    int depth;
    bool wrong;    /* not an expression */
    bool no_value; /* unknown name, division by zero, more than 64 bits */
};

static int64_t sum(struct plain *p);

static int64_t keep(struct plain *p, wide value)
{
    if (value < INT64_MIN || value > INT64_MAX) {
        p->no_value = true;
        return 0;
    }
    return (int64_t)value;
}

static int64_t divide(struct plain *p, char op, int64_t a, int64_t b)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) {
        p->no_value = true;
        return 0;
    }
    wide quotient = (wide)a / b, rest = (wide)a % b;
    wide below = quotient - (rest != 0 && (rest < 0) != (b < 0));
    return keep(p, op == '/' ? below : op == '%' ? a - below * b : below + (rest != 0));
}

static void skip(struct plain *p)
{
    while (*p->at == ' ' || *p->at == '\t')
        p->at++;
}

static void expect(struct plain *p, char c)
{
    skip(p);
    if (*p->at != c)
        p->wrong = true;
    else
        p->at++;
}

static int64_t number(struct plain *p)
{
    wide value = 0;
    for (; isdigit((unsigned char)*p->at); p->at++)
        if ((value = value * 10 + (*p->at - '0')) > INT64_MAX)
            p->wrong = true, value = 0;
    if (isalpha((unsigned char)*p->at) || *p->at == '_' || *p->at == '.')
        p->wrong = true;
    return (int64_t)value;
}

static int64_t function(struct plain *p, const char *name, size_t length)
{
    p->at++;
    int64_t a = sum(p);
    expect(p, ',');
    int64_t b = p->wrong ? 0 : sum(p);
    expect(p, ')');
    if (length == 3 && !memcmp(name, "min", 3))
        return a < b ? a : b;
    if (length == 3 && !memcmp(name, "max", 3))
        return a > b ? a : b;
    if (length == 8 && !memcmp(name, "ceil_div", 8))
        return p->wrong || p->no_value ? 0 : divide(p, 'c', a, b);
    p->wrong = true;
    return 0;
}

static int64_t word(struct plain *p)
{
    const char *name = p->at;
    while (isalnum((unsigned char)*p->at) || *p->at == '_')
        p->at++;
    size_t length = (size_t)(p->at - name);
    skip(p);
    if (*p->at == '(')
        return function(p, name, length);
    for (size_t i = 0; i < p->scope->n; i++)
        if (strlen(p->scope->names[i]) == length && !memcmp(p->scope->names[i], name, length))
            return p->scope->values[i];
    p->no_value = true;
    return 0;
}

static int64_t atom(struct plain *p)
{
    int64_t value = 0;
    skip(p);
    if (isdigit((unsigned char)*p->at))
        return number(p);
    if (++p->depth > EXPR_MAX_DEPTH) {
        p->wrong = true;
    } else if (*p->at == '(') {
        p->at++;
        value = sum(p);
        expect(p, ')');
    } else if (isalpha((unsigned char)*p->at) || *p->at == '_') {
        value = word(p);
    } else {
        p->wrong = true;
    }
    p->depth--;
    return value;
}

static int64_t product(struct plain *p)
{
    int64_t value = atom(p);
    for (skip(p); !p->wrong && *p->at && strchr("*/%", *p->at); skip(p)) {
        char op = *p->at++;
        int64_t other = atom(p);
        if (p->wrong || p->no_value)
            value = 0;
        else
            value = op == '*' ? keep(p, (wide)value * other) : divide(p, op, value, other);
    }
    return value;
}

static int64_t sum(struct plain *p)
{
    int64_t value = product(p);
    for (skip(p); !p->wrong && (*p->at == '+' || *p->at == '-'); skip(p)) {
        char op = *p->at++;
        int64_t other = product(p);
        value = keep(p, op == '+' ? (wide)value + other : (wide)value - other);
    }
    return value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct expr_scope scope = {.names = {"n", "m", "k_1"}, .n = 3};
    for (size_t i = 0; i < scope.n; i++)
        scope.values[i] = (int64_t)input_number(&in, 8);
    cleanup_free char *text = strndup((const char *)in.at, in.left);
    require(text);
    struct plain p = {.at = text, .scope = &scope};
    int64_t expected = sum(&p), value = 0;
    bool good = !p.wrong && !*p.at && strlen(text) <= EXPR_MAX_LENGTH;

    struct expr *expr = NULL;
    kgrade_error err = {.code = ""};
    if (expr_parse(text, &expr, &err)) {
        require(!good && !strcmp(err.code, "expression_invalid") && err.message[0]);
        return 0;
    }
    require(good && !strcmp(expr_text(expr), text));
    char name[EXPR_MAX_LENGTH + 1];
    bool unknown = expr_unknown_name(expr, &scope, name);
    if (expr_eval(expr, &scope, &value, &err))
        require(p.no_value && !strcmp(err.code, "expression_invalid") && err.message[0]);
    else
        require(!p.no_value && !unknown && value == expected);
    expr_free(expr);
    return 0;
}
