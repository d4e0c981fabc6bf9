#define _GNU_SOURCE
#include "view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"

const json_t *view_at(const json_t *json, const char *path)
{
    while (json && *path) {
        size_t n = strcspn(path, ".");
        char key[64];
        if (n >= sizeof key)
            return NULL;
        memcpy(key, path, n);
        key[n] = 0;
        json = json_object_get(json, key);
        path += n + (path[n] == '.');
    }
    return json_is_null(json) ? NULL : json;
}

double view_number(const json_t *json, const char *path)
{
    const json_t *value = view_at(json, path);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

double view_time_ns(const json_t *series)
{
    double centre = view_number(series, "centre_ns");
    return isnan(centre) ? view_number(series, "median_ns") : centre;
}

const char *view_string(const json_t *json, const char *path)
{
    const char *text = json_string_value(view_at(json, path));
    return text && *text ? text : NULL;
}

bool view_true(const json_t *json, const char *path)
{
    return json_is_true(view_at(json, path));
}

bool view_false(const json_t *json, const char *path)
{
    return json_is_false(view_at(json, path));
}

static bool is_list_of_scalars(const json_t *json)
{
    for (size_t i = 0; i < json_array_size(json); i++) {
        const json_t *member = json_array_get(json, i);
        if (json_is_array(member) || json_is_object(member))
            return false;
    }
    return json_is_array(json);
}

static char *brief_list(const json_t *list)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    fputc('[', f);
    for (size_t i = 0; i < json_array_size(list); i++) {
        cleanup_free char *brief = view_brief(json_array_get(list, i));
        fprintf(f, "%s%s", i ? ", " : "", brief ? brief : "");
    }
    fputc(']', f);
    fclose(f);
    return text;
}

char *view_brief(const json_t *json)
{
    char *text = NULL;
    if (!json)
        return NULL;
    if (json_is_string(json))
        return strdup(json_string_value(json));
    if (is_list_of_scalars(json))
        return brief_list(json);
    if (json_is_real(json))
        return asprintf(&text, "%.6g", json_real_value(json)) < 0 ? NULL : text;
    return json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
}

char *view_assignments(const json_t *json)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    const char *key, *separator = "";
    json_t *value;
    json_object_foreach(view_members(json), key, value)
    {
        cleanup_free char *brief = view_brief(value);
        fprintf(f, "%s%s=%s", separator, key, brief ? brief : "");
        separator = " ";
    }
    fclose(f);
    return text;
}
