#define _GNU_SOURCE
#include "problem.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "files.h"

#define MAX_KEPT_BYTES (4u << 20)

/* The first line of baselines that were made here, as opposed to put here. */
static const char mark[] =
    "# Made of the problem's own files by kgrade regrade; another file in its place stays.\n";

int regrade_carry(const struct regrade_sink *sink, const struct regrade_problem *problem,
                  struct regrade_carried *ret, kgrade_error *err)
{
    if (sink->carry)
        return sink->carry(sink->data, problem, ret, err);
    *ret = (struct regrade_carried){
        .skip_code = "needs_python",
        .skip_message = "Its problem is Python, which is not made a task of here.",
    };
    return 0;
}

char *regrade_task_name(const char *prefix, const char *name)
{
    char *text = NULL;
    if (asprintf(&text, "%s_%.*s", prefix, (int)(REGRADE_MAX_TASK_NAME - 1 - strlen(prefix)),
                 name) < 0)
        return NULL;
    for (char *c = text; *c; c++)
        *c = isalnum((unsigned char)*c) && (unsigned char)*c < 0x80
                 ? (char)tolower((unsigned char)*c)
                 : '_';
    return text;
}

static bool begins(const char *line, const char *keyword, const char *name, const char *ends)
{
    size_t k = strlen(keyword), n = strlen(name);
    return !strncmp(line, keyword, k) && !strncmp(line + k, name, n) && line[k + n] &&
           strchr(ends, line[k + n]);
}

bool regrade_defines(const char *text, const char *name)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (begins(line, "def ", name, "( ") || begins(line, "class ", name, "(: ") ||
            begins(line, "", name, " =:"))
            return true;
        if (!*line)
            break;
    }
    return false;
}

bool regrade_imports(const char *text, const char *file)
{
    char from[REGRADE_MAX_TASK_NAME + 16], import[REGRADE_MAX_TASK_NAME + 16];
    int stem = (int)strlen(file) - (int)strlen(".py");
    snprintf(from, sizeof from, "from %.*s import", stem, file);
    snprintf(import, sizeof import, "import %.*s", stem, file);
    return strstr(text, from) || strstr(text, import);
}

/* --- One module of several ---------------------------------------------------------------------- */

static const char loader[] = "\"\"\"A problem's own files as one module.\"\"\"\n"
                             "\n"
                             "import linecache\n"
                             "import sys\n"
                             "import types\n"
                             "\n"
                             "FILES = %s\n"
                             "\n"
                             "for name, text in FILES.items():\n"
                             "    module = sys.modules[name[:-3]] = types.ModuleType(name[:-3])\n"
                             "    # Compilers of kernels look their lines up.\n"
                             "    linecache.cache[name] = len(text), None, "
                             "text.splitlines(True), name\n"
                             "    exec(compile(text, name, \"exec\"), module.__dict__)\n"
                             "\n"
                             "%s\n";

/* The files in the order in which they can be loaded: what imports comes after what it imports. */
static json_t *in_order(const json_t *files)
{
    json_t *order = json_object(), *text;
    const char *name;
    size_t n = json_object_size(files);
    for (size_t round = 0; order && round <= n; round++) {
        json_object_foreach((json_t *)files, name, text)
        {
            bool ready = !json_object_get(order, name);
            const char *other;
            json_t *ignored;
            json_object_foreach((json_t *)files, other, ignored)
            {
                bool needs = regrade_imports(json_string_value(text), other);
                /* After as many rounds as there are files, those that are left import each other. */
                ready = ready &&
                        (round == n || other == name || !needs || json_object_get(order, other));
            }
            if (ready)
                json_object_set(order, name, text);
        }
    }
    return order;
}

char *regrade_one_module(const json_t *files, const char *last)
{
    json_auto_t *order = in_order(files);
    /* What JSON escapes, Python reads the same way. */
    cleanup_free char *dictionary = order ? json_dumps(order, JSON_INDENT(4)) : NULL;
    char *text = NULL;
    if (!dictionary || asprintf(&text, loader, dictionary, last) < 0)
        return NULL;
    return text;
}

/* --- The folder --------------------------------------------------------------------------------- */

static bool is_there(const char *path, const char *text, size_t size)
{
    cleanup_bytes struct bytes old = {0};
    return !io_read_file(path, MAX_KEPT_BYTES, &old, NULL) && old.size == size &&
           !memcmp(old.data, text, size);
}

static int put(const char *folder, const char *name, const char *text, bool *changed,
               kgrade_error *err)
{
    cleanup_free char *path = regrade_path(folder, name);
    if (!path || !text)
        return fail(err, "out_of_memory", NULL, "There is no memory for a task.");
    size_t size = strlen(text);
    if (is_there(path, text, size))
        return 0;
    *changed = true;
    return io_write_file(path, text, size, err);
}

static int put_baseline(const char *folder, const char *device, const char *text, bool *changed,
                        kgrade_error *err)
{
    char name[64];
    snprintf(name, sizeof name, "baseline.%.16s.py", device);
    cleanup_free char *path = regrade_path(folder, name), *marked = NULL;
    cleanup_bytes struct bytes old = {0};
    if (path && !io_read_file(path, MAX_KEPT_BYTES, &old, NULL) &&
        strncmp((const char *)old.data, mark, strlen(mark)) != 0)
        return 0;
    if (asprintf(&marked, "%s%s", mark, text) < 0)
        marked = NULL; /* which is undefined now */
    return put(folder, name, marked, changed, err);
}

/* problem.json, whole; the caller frees. */
static char *describe(const struct regrade_problem *problem)
{
    json_auto_t *whole = json_deep_copy(problem->json), *names = json_array();
    json_t *text;
    const char *name;
    json_object_foreach((json_t *)problem->files, name, text)
    {
        json_array_append_new(names, json_string(name));
    }
    if (!whole || json_object_set_new(whole, "name", json_string(problem->name)) ||
        json_object_set(whole, "files", names))
        return NULL;
    return json_dumps(whole, JSON_INDENT(2));
}

int regrade_problem_write(const char *folder, const struct regrade_problem *problem,
                          bool *ret_changed, kgrade_error *err)
{
    cleanup_free char *inner = regrade_path(folder, problem->name), *json = describe(problem),
                      *task = inner ? regrade_path(inner, "task.json") : NULL;
    bool changed = false;
    const char *name;
    json_t *text;
    if (!task || !json)
        return fail(err, "out_of_memory", NULL, "There is no memory for a task.");
    if (io_make_dirs(inner, err) || put(inner, "problem.json", json, &changed, err) ||
        put(inner, "statement.md", problem->statement, &changed, err))
        return -1;
    json_object_foreach((json_t *)problem->files, name, text)
    {
        if (put(inner, name, json_string_value(text), &changed, err))
            return -1;
    }
    json_object_foreach((json_t *)problem->baselines, name, text)
    {
        if (put_baseline(inner, name, json_string_value(text), &changed, err))
            return -1;
    }
    if (changed && unlink(task) && errno != ENOENT)
        return fail_errno(err, "file_unwritable", NULL, "Cannot remove %s", task);
    *ret_changed = changed;
    return 0;
}
