#include "script.h"

#include <stdlib.h>
#include <string.h>

const char double_script[] = DOUBLE_SCRIPT;

static const char *find(const char *name)
{
    size_t n = strlen(name);
    for (const char *at = double_script; *at;) {
        size_t word = strcspn(at, " ");
        if (word >= n && !strncmp(at, name, n) && (word == n || at[n] == '='))
            return at + n;
        at += word + strspn(at + word, " ");
    }
    return NULL;
}

bool script_has(const char *name)
{
    return find(name) != NULL;
}

long script_number(const char *name, long otherwise)
{
    const char *found = find(name);
    return found && *found == '=' ? strtol(found + 1, NULL, 10) : otherwise;
}
