/*
 * The Python interpreters that an operator has named for candidates in Python.  kgrade brings none and needs none.
 *
 * A list is "[NAME=]PATH" for each, separated by colons; without a name it is the program's own ("python3"). The first one
 * serves the language "python", any of them "python:NAME".
 */
#ifndef KGRADE_PYTHON_INTERPRETER_H
#define KGRADE_PYTHON_INTERPRETER_H

#include <jansson.h>
#include <stddef.h>

#include "../../sandbox/sandbox.h"

#define PYTHON_MAX 4
#define PYTHON_MAX_NAME 32
#define PYTHON_MAX_PATH 1024
#define PYTHON_MAX_FOLDERS 4
#define PYTHON_LANGUAGE "python"

struct python {
    char name[PYTHON_MAX_NAME];
    char path[PYTHON_MAX_PATH]; /* absolute */
    char folders
        [PYTHON_MAX_FOLDERS]
        [PYTHON_MAX_PATH]; /* that its jail must see: its own, those of what it is made from */
    size_t n_folders;
    json_t *about; /* what grade/pythons.h found out; NULL before */
};

struct python_list {
    struct python items[PYTHON_MAX];
    size_t n;
};

/* Fills *ret; text NULL: none.  Errors: `python_invalid`. */
int python_list_parse(const char *text, struct python_list *ret, kgrade_error *err);
void python_list_clear(struct python_list *list);

/* "python" or "python:NAME"; NULL: there is none of this name, or the language is another one. */
struct python *python_find(struct python_list *list, const char *language);

/* Adds its folders; how many. */
size_t python_binds(const struct python *python, struct jail_bind *binds, size_t max);

#endif
