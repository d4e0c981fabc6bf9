#define _GNU_SOURCE
#include "candidate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/io.h"

#define MAX_FILE_BYTES (1u << 20)

static int read_text(const char *folder, const char *name, struct bytes *ret)
{
    char path[4096];
    kgrade_error error;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (io_read_file(path, MAX_FILE_BYTES, ret, &error) == 0)
        return 0;
    fprintf(stderr, "%s\n", error.message);
    return -1;
}

char *candidate_source(const char *folder, const char *facts)
{
    static const char *const includes[] = {"#include \"../../honest.h\"\n",
                                           "#include \"../../attack.h\"\n"};
    cleanup_bytes struct bytes candidate = {0}, honest = {0}, attack = {0};
    if (read_text(folder, "candidate.c", &candidate) ||
        read_text(folder, "../../honest.h", &honest) ||
        read_text(folder, "../../attack.h", &attack))
        return NULL;
    char *text = (char *)candidate.data, *source = NULL;
    int n = -1;
    for (size_t i = 0; i < 2 && !source; i++) {
        const char *include = strstr(text, includes[i]);
        if (include)
            n = asprintf(&source, "%.*s%s%s%s%s", (int)(include - text), text, facts,
                         (const char *)honest.data, i ? (const char *)attack.data : "",
                         include + strlen(includes[i]));
    }
    if (!source)
        n = asprintf(&source, "%s", text);
    return n < 0 ? NULL : source;
}

json_t *candidate_expectation(const char *folder)
{
    static const char *const known[] = {
        "about",   "covers",    "task",      "device",  "language", "verdict",         "verdicts",
        "code",    "codes",     "says",      "absent",  "log",      "forbidden_codes", "after",
        "machine", "isolation", "max_score", "outside", "forge"};
    char path[4096];
    json_error_t error;
    snprintf(path, sizeof path, "%s/expect.json", folder);
    json_t *expect = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!expect) {
        fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
        return NULL;
    }
    const char *key;
    json_t *value;
    json_object_foreach(expect, key, value)
    {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            found = found || !strcmp(known[i], key);
        if (!found) {
            fprintf(stderr, "%s: \"%s\" is not a known key\n", path, key);
            json_decref(expect);
            return NULL;
        }
    }
    return expect;
}

const char *candidate_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

bool candidate_is_one_of(const char *value, const json_t *single, const json_t *many)
{
    if (!single && !many)
        return true;
    if (single && value && !strcmp(value, json_string_value(single)))
        return true;
    for (size_t i = 0; i < json_array_size(many); i++)
        if (value && !strcmp(value, json_string_value(json_array_get(many, i))))
            return true;
    return false;
}
