#define _GNU_SOURCE
#include "parquet.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"

#define NO_PYARROW 3 /* what the program below exits with when it is missing */

/* NaN and infinities are no JSON; bytes and times become text. */
static const char program[] =
    "import json, math, sys\n"
    "try:\n"
    "    import pyarrow.parquet as parquet\n"
    "except ImportError:\n"
    "    sys.exit(3)\n"
    "def plain(value):\n"
    "    return None if isinstance(value, float) and not math.isfinite(value) else value\n"
    "def text(value):\n"
    "    return value.decode('utf-8', 'replace') if isinstance(value, bytes) else str(value)\n"
    "for batch in parquet.ParquetFile(sys.argv[1]).iter_batches(batch_size=64):\n"
    "    for row in batch.to_pylist():\n"
    "        print(json.dumps({k: plain(v) for k, v in row.items()}, default=text))\n";

/* One interpreter; where several are named, the one in $PATH. */
static const char *interpreter(void)
{
    const char *named = getenv("KGRADE_PYTHON");
    return named && *named && !strpbrk(named, "=:") ? named : "python3";
}

int parquet_open(const char *path, struct parquet *ret, kgrade_error *err)
{
    extern char **environ;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return fail_errno(err, "file_unreadable", NULL, "Cannot read %s", path);
    cleanup_close int from = ends[0], to = ends[1];
    char code[sizeof program], option[] = "-c", isolated[] = "-I";
    cleanup_free char *name = strdup(interpreter()), *file = strdup(path);
    memcpy(code, program, sizeof program);
    char *arguments[] = {name, isolated, option, code, file, NULL};
    posix_spawn_file_actions_t actions;
    if (!name || !file || posix_spawn_file_actions_init(&actions))
        return fail(err, "out_of_memory", NULL, "There is no memory for reading %s.", path);
    posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
    int failed = posix_spawnp(&ret->pid, name, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        errno = failed;
        return fail_errno(err, "no_pyarrow", "Or export the file as JSONL or CSV.",
                          "Parquet is read with Python, and %s cannot be started", name);
    }
    ret->lines = fdopen(from, "r");
    if (!ret->lines) {
        kill(ret->pid, SIGKILL);
        waitpid(ret->pid, NULL, 0);
        return fail_errno(err, "file_unreadable", NULL, "Cannot read %s", path);
    }
    steal_fd(&from);
    return 0;
}

int parquet_close(struct parquet *parquet, kgrade_error *err)
{
    int status;
    fclose(parquet->lines);
    if (!err)
        kill(parquet->pid, SIGKILL);
    while (waitpid(parquet->pid, &status, 0) < 0)
        if (errno != EINTR)
            return fail_errno(err, "file_unreadable", NULL, "Cannot wait for Python");
    if (!err || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PYARROW)
        return fail(
            err, "no_pyarrow",
            "Install pyarrow for it, set KGRADE_PYTHON to one that has it, or export the file "
            "as JSONL or CSV.",
            "Parquet is read with Python's pyarrow, which %s does not have.", interpreter());
    return fail(err, "file_unreadable", "What Python says is above.",
                "Python could not read the Parquet file.");
}
