#define _GNU_SOURCE
#include "adapters.h"

#include <stdio.h>
#include <string.h>

#include "../../sandbox/base/fail.h"

const struct regrade_adapter *const regrade_adapters[] = {
    &regrade_gpumode,
    &regrade_kernelbench,
    &regrade_arena,
    &regrade_flashinfer,
    &regrade_leetgpu,
    &regrade_folder, /* takes any folder, so it is the last */
    NULL,
};

static void list_names(char *ret, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; regrade_adapters[i] && used < size; i++)
        used += (size_t)snprintf(ret + used, size - used, "%s%s", i ? ", " : "",
                                 regrade_adapters[i]->name);
}

const struct regrade_adapter *regrade_adapter_for(const char *path, kgrade_error *err)
{
    char names[256];
    for (size_t i = 0; regrade_adapters[i]; i++)
        if (regrade_adapters[i]->recognise(path))
            return regrade_adapters[i];
    list_names(names, sizeof names);
    fail_set(err, "unknown_board",
             "A board is a folder, or a file that another board exported; --format says what it is "
             "where its looks do not.",
             "%s is no leaderboard that kgrade knows; known are: %s.", path, names);
    return NULL;
}

const struct regrade_adapter *regrade_adapter_named(const char *name, kgrade_error *err)
{
    char names[256];
    for (size_t i = 0; regrade_adapters[i]; i++)
        if (!strcmp(regrade_adapters[i]->name, name))
            return regrade_adapters[i];
    list_names(names, sizeof names);
    fail_set(err, "unknown_adapter", NULL, "There is no format \"%.64s\"; known are: %s.", name,
             names);
    return NULL;
}
