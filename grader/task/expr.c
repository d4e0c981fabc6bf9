/*
 * Text becomes postfix code, which a small stack machine evaluates.  Parsing is by recursive
 * descent:
 *
 *   sum     = product { ("+" | "-") product }
 *   product = atom { ("*" | "/" | "%") atom }
 *   atom    = number | name | "(" sum ")" | function "(" sum "," sum ")"
 */
#define _GNU_SOURCE
#include "expr.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"

enum op { OP_NUMBER, OP_NAME, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD, OP_MIN, OP_MAX, OP_CEIL_DIV };

struct instruction {
    enum op op;
    int64_t number;
    size_t name_start, name_length; /* in text */
};

/* Below an open parenthesis wait at most a sum's and a product's left operand and a function's
 * first argument. */
#define STACK_SIZE (3 * (EXPR_MAX_DEPTH + 1))

struct expr {
    char *text;
    struct instruction *code;
    size_t n;
};

struct parser {
    struct expr *expr;
    size_t at;
    unsigned depth;
    kgrade_error *err;
};

static const char grammar_hint[] =
    "Use names of dims, decimal integers, + - * / %, parentheses, min(a,b), max(a,b) and "
    "ceil_div(a,b).";

static int parse_sum(struct parser *p);

static char peek(struct parser *p)
{
    const char *text = p->expr->text;
    while (text[p->at] == ' ' || text[p->at] == '\t')
        p->at++;
    return text[p->at];
}

static int complain(struct parser *p, const char *what)
{
    return fail(p->err, "expression_invalid", grammar_hint,
                "In the expression \"%s\", at column %zu: %s.", p->expr->text, p->at + 1, what);
}

static void emit(struct parser *p, struct instruction instruction)
{
    p->expr->code[p->expr->n++] = instruction;
}

static int expect(struct parser *p, char c, const char *what)
{
    if (peek(p) != c)
        return complain(p, what);
    p->at++;
    return 0;
}

static int parse_number(struct parser *p)
{
    const char *text = p->expr->text;
    size_t start = p->at;
    int64_t number = 0;
    for (; isdigit((unsigned char)text[p->at]); p->at++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, text[p->at] - '0', &number)) {
            p->at = start;
            return complain(p, "the number does not fit in 64 bits");
        }
    }
    if (isalpha((unsigned char)text[p->at]) || text[p->at] == '_' || text[p->at] == '.')
        return complain(p, "a number is decimal digits only");
    emit(p, (struct instruction){.op = OP_NUMBER, .number = number});
    return 0;
}

static int parse_function(struct parser *p, size_t start, size_t length)
{
    static const struct {
        const char *name;
        enum op op;
    } functions[] = {{"min", OP_MIN}, {"max", OP_MAX}, {"ceil_div", OP_CEIL_DIV}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strlen(functions[i].name) != length ||
            memcmp(functions[i].name, p->expr->text + start, length) != 0)
            continue;
        p->at++; /* the parenthesis that made it a function */
        if (parse_sum(p) || expect(p, ',', "a comma and the second argument are missing") ||
            parse_sum(p) || expect(p, ')', "a closing parenthesis is missing"))
            return -1;
        emit(p, (struct instruction){.op = functions[i].op});
        return 0;
    }
    p->at = start;
    return complain(p, "there is no such function");
}

static int parse_atom(struct parser *p)
{
    const char *text = p->expr->text;
    char c = peek(p);
    if (isdigit((unsigned char)c))
        return parse_number(p);
    if (c != '(' && !isalpha((unsigned char)c) && c != '_')
        return complain(p, c ? "a number, a name or a parenthesis is expected here"
                             : "the expression ends where a value is expected");
    if (p->depth == EXPR_MAX_DEPTH)
        return complain(p, "parentheses are nested too deeply");

    p->depth++;
    if (c == '(') {
        p->at++;
        if (parse_sum(p) || expect(p, ')', "a closing parenthesis is missing"))
            return -1;
    } else {
        size_t start = p->at;
        while (isalnum((unsigned char)text[p->at]) || text[p->at] == '_')
            p->at++;
        size_t length = p->at - start;
        if (peek(p) == '(') {
            if (parse_function(p, start, length))
                return -1;
        } else {
            emit(p,
                 (struct instruction){.op = OP_NAME, .name_start = start, .name_length = length});
        }
    }
    p->depth--;
    return 0;
}

static int parse_product(struct parser *p)
{
    if (parse_atom(p))
        return -1;
    for (;;) {
        char c = peek(p);
        if (c != '*' && c != '/' && c != '%')
            return 0;
        p->at++;
        if (parse_atom(p))
            return -1;
        emit(p, (struct instruction){.op = c == '*' ? OP_MUL : c == '/' ? OP_DIV : OP_MOD});
    }
}

static int parse_sum(struct parser *p)
{
    if (parse_product(p))
        return -1;
    for (;;) {
        char c = peek(p);
        if (c != '+' && c != '-')
            return 0;
        p->at++;
        if (parse_product(p))
            return -1;
        emit(p, (struct instruction){.op = c == '+' ? OP_ADD : OP_SUB});
    }
}

static void cleanup_expr_(struct expr **expr)
{
    expr_free(*expr);
}

int expr_parse(const char *text, struct expr **ret, kgrade_error *err)
{
    size_t length = strlen(text);
    if (length > EXPR_MAX_LENGTH)
        return fail(err, "expression_invalid", "Write a shorter expression.",
                    "An expression has %zu characters; at most %d are allowed.", length,
                    EXPR_MAX_LENGTH);
    __attribute__((cleanup(cleanup_expr_))) struct expr *expr = calloc(1, sizeof *expr);
    if (!expr)
        return fail(err, "out_of_memory", NULL, "No memory for an expression.");
    expr->text = strdup(text);
    expr->code =
        calloc(length + 1, sizeof *expr->code); /* each instruction has a character of its own */
    if (!expr->text || !expr->code)
        return fail(err, "out_of_memory", NULL, "No memory for an expression.");

    struct parser p = {.expr = expr, .err = err};
    if (parse_sum(&p))
        return -1;
    if (peek(&p))
        return complain(&p, "an operator or the end is expected here");
    *ret = steal_pointer(&expr);
    return 0;
}

void expr_free(struct expr *expr)
{
    if (!expr)
        return;
    free(expr->text);
    free(expr->code);
    free(expr);
}

const char *expr_text(const struct expr *expr)
{
    return expr->text;
}

static const int64_t *look_up(const struct expr *expr, const struct instruction *instruction,
                              const struct expr_scope *scope)
{
    const char *name = expr->text + instruction->name_start;
    for (size_t i = 0; i < scope->n; i++) {
        if (strlen(scope->names[i]) == instruction->name_length &&
            memcmp(scope->names[i], name, instruction->name_length) == 0)
            return &scope->values[i];
    }
    return NULL;
}

/* Both false when the result is not an int64_t. */
static bool divide(enum op op, int64_t a, int64_t b, int64_t *ret)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    int64_t quotient = a / b, rest = a % b;
    bool uneven = rest != 0, negative = (rest < 0) != (b < 0);
    if (op == OP_CEIL_DIV)
        *ret = quotient + (uneven && !negative);
    else if (op == OP_DIV)
        *ret = quotient - (uneven && negative);
    else
        *ret = uneven && negative ? rest + b : rest;
    return true;
}

static bool apply(enum op op, int64_t a, int64_t b, int64_t *ret)
{
    switch (op) {
    case OP_ADD:
        return !__builtin_add_overflow(a, b, ret);
    case OP_SUB:
        return !__builtin_sub_overflow(a, b, ret);
    case OP_MUL:
        return !__builtin_mul_overflow(a, b, ret);
    case OP_DIV:
    case OP_MOD:
    case OP_CEIL_DIV:
        return divide(op, a, b, ret);
    case OP_MIN:
        *ret = a < b ? a : b;
        return true;
    case OP_MAX:
        *ret = a > b ? a : b;
        return true;
    case OP_NUMBER:
    case OP_NAME:
        break;
    }
    return false;
}

int expr_eval(const struct expr *expr, const struct expr_scope *scope, int64_t *ret,
              kgrade_error *err)
{
    int64_t stack[STACK_SIZE];
    size_t top = 0;
    for (size_t i = 0; i < expr->n; i++) {
        const struct instruction *instruction = &expr->code[i];
        if (instruction->op == OP_NUMBER) {
            stack[top++] = instruction->number;
        } else if (instruction->op == OP_NAME) {
            const int64_t *value = look_up(expr, instruction, scope);
            if (!value)
                return fail(err, "expression_invalid", "Use the name of a parameter of kind dim.",
                            "The expression \"%s\" uses \"%.*s\", which is not a dim.", expr->text,
                            (int)instruction->name_length, expr->text + instruction->name_start);
            stack[top++] = *value;
        } else {
            int64_t b = stack[--top], a = stack[top - 1];
            if (apply(instruction->op, a, b, &stack[top - 1]))
                continue;
            return fail(err, "expression_invalid",
                        "Change the expression or the dims so that every step fits in 64 bits.",
                        "The expression \"%s\" %s.", expr->text,
                        b == 0 && instruction->op != OP_ADD && instruction->op != OP_SUB
                            ? "divides by zero"
                            : "overflows 64 bits");
        }
    }
    *ret = stack[0];
    return 0;
}

bool expr_unknown_name(const struct expr *expr, const struct expr_scope *scope,
                       char ret[EXPR_MAX_LENGTH + 1])
{
    for (size_t i = 0; i < expr->n; i++) {
        const struct instruction *instruction = &expr->code[i];
        if (instruction->op != OP_NAME || look_up(expr, instruction, scope))
            continue;
        memcpy(ret, expr->text + instruction->name_start, instruction->name_length);
        ret[instruction->name_length] = 0;
        return true;
    }
    return false;
}
