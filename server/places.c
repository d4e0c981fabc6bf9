#define _GNU_SOURCE
#include "places.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/fail.h"
#include "../sandbox/base/io.h"

#define SOCKET_NAME "kgraded.sock"
#define STORE_NAME "kgrade.db"

static char *join(const char *folder, size_t length, const char *name, kgrade_error *err)
{
    char *path = NULL;
    if (asprintf(&path, "%.*s%s%s", (int)length, folder, *name ? "/" : "", name) < 0) {
        fail(err, "out_of_memory", NULL, "There is no memory for a path.");
        return NULL;
    }
    return path;
}

/* An absolute path in a variable, of which the service manager may have written several, separated
 * by colons: then the first. */
static const char *folder_of(const char *variable, size_t *ret_length)
{
    const char *value = getenv(variable);
    if (!value || value[0] != '/')
        return NULL;
    *ret_length = strcspn(value, ":");
    return value;
}

static const char *home(void)
{
    const char *value = getenv("HOME");
    if (value && value[0] == '/')
        return value;
    const struct passwd *user = getpwuid(getuid());
    return user && user->pw_dir[0] == '/' ? user->pw_dir : NULL;
}

/* name in the state folder of this user. */
static char *in_state(const char *name, const char *hint, kgrade_error *err)
{
    size_t length = 0;
    const char *folder = folder_of("STATE_DIRECTORY", &length);
    if (folder)
        return join(folder, length, name, err);

    char below[64];
    snprintf(below, sizeof below, "kgrade/%s", name);
    folder = folder_of("XDG_STATE_HOME", &length);
    if (folder)
        return join(folder, strlen(folder), below, err);
    snprintf(below, sizeof below, ".local/state/kgrade/%s", name);
    folder = home();
    if (folder && strcmp(folder, "/"))
        return join(folder, strlen(folder), below, err);
    fail(err, "usage", hint, "There is no place for %s: this user has no home folder.", name);
    return NULL;
}

char *places_socket(kgrade_error *err)
{
    size_t length = 0;
    const char *folder = folder_of("RUNTIME_DIRECTORY", &length);
    if (folder)
        return join(folder, length, SOCKET_NAME, err);
    folder = folder_of("XDG_RUNTIME_DIR", &length);
    if (folder)
        return join(folder, strlen(folder), SOCKET_NAME, err);
    if (geteuid() == 0)
        return join("/run/kgraded", strlen("/run/kgraded"), SOCKET_NAME, err);
    return in_state(SOCKET_NAME, "Say where to listen with --unix or --listen.", err);
}

char *places_store(kgrade_error *err)
{
    return in_state(STORE_NAME, "Say where to keep it with --store.", err);
}

char *places_cache(void)
{
    size_t length = 0;
    const char *folder = folder_of("CACHE_DIRECTORY", &length);
    return folder ? join(folder, length, "", NULL) : NULL;
}

char *places_tokens(void)
{
    size_t length = 0;
    const char *folder = folder_of("CREDENTIALS_DIRECTORY", &length);
    if (!folder)
        return NULL;
    cleanup_free char *path = join(folder, strlen(folder), "tokens", NULL);
    struct stat st;
    /* A unit that has none passes an empty line. */
    if (!path || (stat(path, &st) ? errno == ENOENT : st.st_size <= 1))
        return NULL;
    return steal_pointer(&path);
}

int places_make_parent(const char *path, bool shared, kgrade_error *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return 0;
    cleanup_free char *folder = strndup(path, (size_t)(slash - path));
    if (!folder)
        return fail(err, "out_of_memory", NULL, "There is no memory for a path.");
    if (shared && mkdir(folder, 0755) && errno != EEXIST && errno != ENOENT)
        return fail_errno(err, "file_unwritable", NULL, "Cannot make the folder %s", folder);
    return io_make_dirs(folder, err);
}

void places_forget_manager(void)
{
    static const char *const variables[] = {
        "LISTEN_PID",        "LISTEN_FDS",      "LISTEN_FDNAMES",          "NOTIFY_SOCKET",
        "WATCHDOG_PID",      "WATCHDOG_USEC",   "CREDENTIALS_DIRECTORY",   "STATE_DIRECTORY",
        "RUNTIME_DIRECTORY", "CACHE_DIRECTORY", "CONFIGURATION_DIRECTORY", "INVOCATION_ID",
        "JOURNAL_STREAM",    "MAINPID",
    };
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
}
