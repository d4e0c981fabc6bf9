/* The interpreter for candidates and tasks in Python on the command line: where it is left open it is found, so that `kgrade grade add.py`
 * works in whatever environment is active. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "cli.h"

static bool is_program(const char *path)
{
    char magic[4] = "";
    cleanup_file FILE *file = access(path, X_OK) == 0 ? fopen(path, "rbe") : NULL;
    return file && fread(magic, sizeof magic, 1, file) == 1 && !memcmp(magic, "\177ELF", 4);
}

/* The first python3 in $PATH that is a program: wrappers in the shell's language cannot be run in a jail. */
static const char *find_interpreter(void)
{
    static char path[PATH_MAX];
    cleanup_free char *folders = strdup(getenv("PATH") ? getenv("PATH") : "");
    char *rest = folders, *folder;
    while (rest && (folder = strsep(&rest, ":"))) {
        int n = snprintf(path, sizeof path, "%s/python3", folder);
        if (folder[0] == '/' && n < (int)sizeof path && is_program(path))
            return path;
    }
    return NULL;
}

/* A folder of a foreign task, which check-task and describe-task are given: its reference is in Python. */
static bool is_foreign_task(const char *folder)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/problem.json", folder);
    return n < (int)sizeof path && access(path, R_OK) == 0;
}

void python_settle(struct cli *cli)
{
    /* Without files: the doctor looks at what would be taken. */
    bool wanted = cli->n_arguments == 0;
    for (int i = 0; i < cli->n_arguments && !wanted; i++) {
        const char *language = cli_language(cli, cli->arguments[i]);
        wanted =
            (language && !strncmp(language, "python", 6)) || is_foreign_task(cli->arguments[i]);
    }
    if (!cli->options.python)
        cli->options.python = getenv("KGRADE_PYTHON");
    if (!cli->options.python && wanted)
        cli->options.python = find_interpreter();
}
