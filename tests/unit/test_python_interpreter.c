/* Interpreters for candidates in Python: the list that an operator gives, and what each one's jail must see. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "grader/python/interpreter.h"
#include "sandbox/base/io.h"

static char folder[64];

static void make_folder(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(io_make_dirs(path, NULL), 0);
}

static void make_program(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(io_write_file(path, "#!/bin/sh\n", 10, NULL), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

/* An installation in base/, a virtual environment made from it in venv/, and one whose program is a link to the first. */
static int set_up(void **state)
{
    (void)state;
    char text[256], path[128], target[128];
    strcpy(folder, "/tmp/python-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    make_folder("base/bin");
    make_folder("venv/bin");
    make_folder("linked/bin");
    make_program("base/bin/python3");
    make_program("venv/bin/python3");
    snprintf(path, sizeof path, "%s/venv/pyvenv.cfg", folder);
    int n = snprintf(text, sizeof text, "version = 3.11\nhome = %s/base/bin\nprompt = x\n", folder);
    assert_int_equal(io_write_file(path, text, (size_t)n, NULL), 0);
    snprintf(path, sizeof path, "%s/linked/bin/python3", folder);
    snprintf(target, sizeof target, "%s/base/bin/python3", folder);
    return symlink(target, path);
}

static int tear_down(void **state)
{
    (void)state;
    return io_remove_tree(folder, NULL);
}

/* "%" in text stands for the folder. */
static int parse(const char *text, struct python_list *ret, kgrade_error *err)
{
    char full[1024] = "";
    for (const char *c = text; *c; c++) {
        size_t n = strlen(full);
        if (*c == '%')
            snprintf(full + n, sizeof full - n, "%s", folder);
        else
            full[n] = *c;
    }
    return python_list_parse(full, ret, err);
}

static bool sees(const struct python *p, const char *name)
{
    struct jail_bind binds[PYTHON_MAX_FOLDERS];
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    size_t n = python_binds(p, binds, PYTHON_MAX_FOLDERS);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(binds[i].source, path) && !binds[i].writable)
            return true;
    return false;
}

static void nothing_is_an_empty_list(void **state)
{
    (void)state;
    struct python_list list;
    assert_int_equal(python_list_parse(NULL, &list, NULL), 0);
    assert_int_equal(list.n, 0);
    assert_int_equal(python_list_parse("", &list, NULL), 0);
    assert_int_equal(list.n, 0);
    assert_null(python_find(&list, "python"));
}

static void languages_choose_an_interpreter(void **state)
{
    (void)state;
    struct python_list list;
    assert_int_equal(parse("%/base/bin/python3:torch=%/venv/bin/python3", &list, NULL), 0);
    assert_int_equal(list.n, 2);
    assert_ptr_equal(python_find(&list, "python"), &list.items[0]);
    assert_ptr_equal(python_find(&list, "python:python3"), &list.items[0]);
    assert_ptr_equal(python_find(&list, "python:torch"), &list.items[1]);
    assert_null(python_find(&list, "python:"));
    assert_null(python_find(&list, "python:jax"));
    assert_null(python_find(&list, "pythonic"));
    assert_null(python_find(&list, "c"));
    assert_null(python_find(&list, NULL));
}

static void a_jail_sees_what_an_interpreter_is_made_from(void **state)
{
    (void)state;
    struct python_list list;
    assert_int_equal(
        parse("a=%/base/bin/python3:b=%/venv/bin/python3:c=%/linked/bin/python3", &list, NULL), 0);
    assert_true(sees(&list.items[0], "base"));
    assert_int_equal(list.items[0].n_folders, 1);
    assert_true(sees(&list.items[1], "venv") && sees(&list.items[1], "base"));
    assert_true(sees(&list.items[2], "linked") && sees(&list.items[2], "base"));
}

static void the_systems_own_needs_no_more_than_all_jails_have(void **state)
{
    (void)state;
    struct python_list list;
    if (access("/usr/bin/env", X_OK))
        skip();
    assert_int_equal(python_list_parse("/usr/bin/env", &list, NULL), 0);
    assert_int_equal(list.items[0].n_folders, 0);
    assert_int_equal(python_list_parse("/bin/sh", &list, NULL), 0);
    assert_int_equal(list.items[0].n_folders, 0);
}

static void mistakes_are_told(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "bin/python3",                                         /* not absolute */
        "%/base/bin/python4",                                  /* not there */
        "%/venv/pyvenv.cfg",                                   /* not a program */
        "a b=%/base/bin/python3",                              /* not a name */
        "=%/base/bin/python3",                                 /* no name */
        "a123456789a123456789a123456789ab=%/base/bin/python3", /* PYTHON_MAX_NAME characters */
        "%/base/bin/python3:%/venv/bin/python3",               /* one name for two */
        "a=%/base/bin/python3:b=%/base/bin/python3:c=%/base/bin/python3:d=%/base/bin/python3:"
        "e=%/base/bin/python3", /* more than PYTHON_MAX */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct python_list list;
        kgrade_error err = {.code = ""};
        assert_int_equal(parse(wrong[i], &list, &err), -1);
        assert_string_equal(err.code, "python_invalid");
        assert_true(err.message[0]);
    }
}

static void as_many_as_allowed_are_taken(void **state)
{
    (void)state;
    struct python_list list;
    assert_int_equal(parse("a123456789a123456789a123456789a=%/base/bin/python3:"
                           "b=%/base/bin/python3:c=%/base/bin/python3:d=%/base/bin/python3",
                           &list, NULL),
                     0);
    assert_int_equal(list.n, PYTHON_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_an_empty_list),
        cmocka_unit_test(languages_choose_an_interpreter),
        cmocka_unit_test(a_jail_sees_what_an_interpreter_is_made_from),
        cmocka_unit_test(the_systems_own_needs_no_more_than_all_jails_have),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(as_many_as_allowed_are_taken),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
