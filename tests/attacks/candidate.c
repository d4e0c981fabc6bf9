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

char *candidate_source(const char *folder, const char *file, const char *facts)
{
    static const char here[] = KGRADE_SOURCE_DIR "/tests/attacks";
    static const struct {
        const char *line;
        bool attack;
    } includes[] = {{"#include \"../../honest.h\"\n", false},
                    {"#include \"../../attack.h\"\n", true},
                    {"#include \"../../../attacks/honest.h\"\n", false},
                    {"#include \"../../../attacks/attack.h\"\n", true}};
    cleanup_bytes struct bytes candidate = {0}, honest = {0}, attack = {0};
    if (read_text(folder, file, &candidate) || read_text(here, "honest.h", &honest) ||
        read_text(here, "attack.h", &attack))
        return NULL;
    char *text = (char *)candidate.data, *source = NULL;
    int n = -1;
    for (size_t i = 0; i < sizeof includes / sizeof includes[0] && !source; i++) {
        const char *include = strstr(text, includes[i].line);
        if (include)
            n = asprintf(&source, "%.*s%s%s%s%s", (int)(include - text), text, facts,
                         (const char *)honest.data,
                         includes[i].attack ? (const char *)attack.data : "",
                         include + strlen(includes[i].line));
    }
    if (!source)
        n = asprintf(&source, "%s", text);
    return n < 0 ? NULL : source;
}

static json_t *load_known(const char *folder, const char *file, const char *const *known, size_t n)
{
    char path[4096];
    json_error_t error;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    json_t *object = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!object) {
        fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
        return NULL;
    }
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        bool found = false;
        for (size_t i = 0; i < n; i++)
            found = found || !strcmp(known[i], key);
        if (!found) {
            fprintf(stderr, "%s: \"%s\" is not a known key\n", path, key);
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

json_t *candidate_expectation(const char *folder)
{
    static const char *const known[] = {
        "about",   "covers",    "task",      "device",  "language", "verdict",         "verdicts",
        "code",    "codes",     "says",      "absent",  "log",      "forbidden_codes", "after",
        "machine", "isolation", "max_score", "outside", "forge"};
    return load_known(folder, "expect.json", known, sizeof known / sizeof known[0]);
}

json_t *candidate_hack(const char *folder)
{
    static const char *const known[] = {"about",    "covers", "fools",   "task", "twin",
                                        "verdicts", "codes",  "machine", "cuda"};
    return load_known(folder, "hack.json", known, sizeof known / sizeof known[0]);
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
