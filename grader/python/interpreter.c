#define _GNU_SOURCE
#include "interpreter.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "../quote.h"

#define INVALID "python_invalid"
#define LIST_HINT "A list of interpreters is [NAME=]PATH:[NAME=]PATH..., each path absolute."
#define MAX_SETTINGS_BYTES 65536 /* of pyvenv.cfg */

/* Every jail has these, with all that is below. */
static bool is_everywhere(const char *folder)
{
    return !strcmp(folder, "/usr") || !strncmp(folder, "/usr/", 5) || !strcmp(folder, "/");
}

static int add_folder(struct python *p, const char *folder, kgrade_error *err)
{
    if (is_everywhere(folder))
        return 0;
    for (size_t i = 0; i < p->n_folders; i++)
        if (!strcmp(p->folders[i], folder))
            return 0;
    if (p->n_folders == PYTHON_MAX_FOLDERS || strlen(folder) >= PYTHON_MAX_PATH)
        return fail(err, INVALID, NULL, "The interpreter %s is made from too many folders.",
                    p->path);
    strcpy(p->folders[p->n_folders++], folder);
    return 0;
}

/* PREFIX of PREFIX/bin/PROGRAM; false: it is not of this form. */
static bool prefix_of(const char *program, char ret[PATH_MAX])
{
    if (strlen(program) >= PATH_MAX)
        return false;
    strcpy(ret, program);
    char *program_slash = strrchr(ret, '/');
    if (!program_slash || program_slash == ret)
        return false;
    *program_slash = 0;
    char *folder_slash = strrchr(ret, '/');
    folder_slash[folder_slash == ret] = 0; /* /bin/PROGRAM: the prefix is / */
    return true;
}

static int add_prefix(struct python *p, const char *program, kgrade_error *err)
{
    char prefix[PATH_MAX];
    if (!prefix_of(program, prefix))
        return fail(err, INVALID, "Name the interpreter itself, as in /opt/venv/bin/python3.",
                    "\"%s\" does not lie in the bin folder of an installation.", p->path);
    return add_folder(p, prefix, err);
}

/* A virtual environment is made from another installation: "home = /opt/python/bin" in its pyvenv.cfg. */
static int add_home(struct python *p, kgrade_error *err)
{
    char prefix[PATH_MAX], path[PATH_MAX + 16];
    cleanup_bytes struct bytes text = {0};
    if (!prefix_of(p->path, prefix))
        return 0;
    snprintf(path, sizeof path, "%s/pyvenv.cfg", prefix);
    if (io_read_file(path, MAX_SETTINGS_BYTES, &text, NULL))
        return 0;
    char *rest = (char *)text.data, *line;
    while ((line = strsep(&rest, "\n"))) {
        char home[PATH_MAX - 16], program[PATH_MAX];
        if (sscanf(line, " home = %4000[^\n]", home) != 1)
            continue;
        snprintf(program, sizeof program, "%s/python3", home);
        return add_prefix(p, program, err);
    }
    return 0;
}

static bool is_name(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return name[0] && strspn(name, allowed) == strlen(name);
}

static int parse_one(const char *text, struct python *p, kgrade_error *err)
{
    char real[PATH_MAX];
    const char *equals = strchr(text, '='), *path = equals ? equals + 1 : text;
    const char *last = strrchr(path, '/');
    if (path[0] != '/' || strlen(path) >= PYTHON_MAX_PATH)
        return fail(err, INVALID, LIST_HINT, "\"%s\" is no absolute path.", quote(path).text);
    snprintf(p->path, sizeof p->path, "%s", path);
    const char *name = equals ? text : last + 1;
    size_t length = equals ? (size_t)(equals - text) : strlen(name);
    snprintf(p->name, sizeof p->name, "%.*s", (int)length, name);
    if (length >= sizeof p->name || !is_name(p->name))
        return fail(err, INVALID, LIST_HINT,
                    "An interpreter cannot be called \"%s\": letters, digits, dots, dashes and "
                    "underlines, fewer than %d.",
                    quote(p->name).text, PYTHON_MAX_NAME);
    if (access(path, X_OK) || !realpath(path, real))
        return fail_errno(err, INVALID, "Name a Python that is installed.",
                          "The interpreter %s cannot be run", path);
    return add_prefix(p, path, err) || add_home(p, err) || add_prefix(p, real, err) ? -1 : 0;
}

int python_list_parse(const char *text, struct python_list *ret, kgrade_error *err)
{
    *ret = (struct python_list){.n = 0};
    cleanup_free char *copy = strdup(text ? text : "");
    char *rest = copy, *item;
    if (!copy)
        return fail(err, "out_of_memory", NULL, "No memory for the list of interpreters.");
    while ((item = strsep(&rest, ":"))) {
        if (!item[0])
            continue;
        if (ret->n == PYTHON_MAX)
            return fail(err, INVALID, NULL, "At most %d interpreters can be named.", PYTHON_MAX);
        struct python *p = &ret->items[ret->n];
        if (parse_one(item, p, err))
            return -1;
        for (size_t i = 0; i < ret->n; i++)
            if (!strcmp(ret->items[i].name, p->name))
                return fail(err, INVALID, "Give each a name of its own: NAME=PATH.",
                            "Two interpreters are called \"%s\".", p->name);
        ret->n++;
    }
    return 0;
}

void python_list_clear(struct python_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        json_decref(list->items[i].about);
    list->n = 0;
}

struct python *python_find(struct python_list *list, const char *language)
{
    size_t n = strlen(PYTHON_LANGUAGE);
    if (!language || strncmp(language, PYTHON_LANGUAGE, n) || (language[n] && language[n] != ':') ||
        list->n == 0)
        return NULL;
    for (size_t i = 0; i < list->n; i++)
        if (!language[n] || !strcmp(list->items[i].name, language + n + 1))
            return &list->items[i];
    return NULL;
}

size_t python_binds(const struct python *p, struct jail_bind *binds, size_t max)
{
    size_t n = 0;
    for (; n < p->n_folders && n < max; n++)
        binds[n] = (struct jail_bind){.source = p->folders[n]};
    return n;
}
