#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "files.h"
#include "yaml.h"

struct reading {
    yaml_parser_t parser;
    const char *path;
    unsigned nodes;
    kgrade_error *err;
};

static json_t *complain(const struct reading *r, const char *what, size_t line)
{
    fail_set(r->err, "bad_board", NULL, "%s, line %zu: %s.", r->path, line + 1, what);
    return NULL;
}

/* The next event; false after filling the error. */
static bool next(struct reading *r, yaml_event_t *event)
{
    if (yaml_parser_parse(&r->parser, event))
        return true;
    complain(r, r->parser.problem ? r->parser.problem : "it cannot be read",
             r->parser.problem_mark.line);
    return false;
}

static json_t *scalar(const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t size = event->data.scalar.length;
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        if (!size || !strcmp(text, "null") || !strcmp(text, "~"))
            return json_null();
        if (!strcasecmp(text, "true") || !strcasecmp(text, "false"))
            return json_boolean(!strcasecmp(text, "true"));
        char *end;
        long long whole = strtoll(text, &end, 10);
        if (!*end)
            return json_integer(whole);
        double number = strtod(text, &end);
        if (!*end && isfinite(number) && strspn(text, "+-.0123456789eE") == size)
            return json_real(number);
    }
    return json_stringn(text, size);
}

static json_t *node(struct reading *r, yaml_event_t *event, unsigned depth);

static json_t *sequence(struct reading *r, unsigned depth)
{
    json_auto_t *list = json_array();
    for (;;) {
        yaml_event_t event;
        if (!next(r, &event))
            return NULL;
        bool ends = event.type == YAML_SEQUENCE_END_EVENT;
        json_t *item = ends ? NULL : node(r, &event, depth);
        yaml_event_delete(&event);
        if (ends)
            return json_incref(list);
        if (!item || json_array_append_new(list, item))
            return NULL;
    }
}

/* A value behind its key. */
static json_t *value_of(struct reading *r, unsigned depth)
{
    yaml_event_t event;
    if (!next(r, &event))
        return NULL;
    json_t *value = node(r, &event, depth);
    yaml_event_delete(&event);
    return value;
}

static json_t *mapping(struct reading *r, unsigned depth)
{
    json_auto_t *object = json_object();
    for (;;) {
        yaml_event_t event;
        if (!next(r, &event))
            return NULL;
        bool ends = event.type == YAML_MAPPING_END_EVENT, named = event.type == YAML_SCALAR_EVENT;
        size_t line = event.start_mark.line;
        cleanup_free char *key = named ? strdup((const char *)event.data.scalar.value) : NULL;
        yaml_event_delete(&event);
        if (ends)
            return json_incref(object);
        if (!key)
            return complain(r, "a key is no text", line);
        if (json_object_get(object, key))
            return complain(r, "a key is there twice", line);
        json_t *value = value_of(r, depth);
        if (!value || json_object_set_new(object, key, value))
            return NULL;
    }
}

static json_t *node(struct reading *r, yaml_event_t *event, unsigned depth)
{
    size_t line = event->start_mark.line;
    if (depth == REGRADE_MAX_YAML_DEPTH)
        return complain(r, "it is nested too deeply", line);
    if (++r->nodes > REGRADE_MAX_YAML_NODES)
        return complain(r, "it has too many values", line);
    switch ((int)event->type) {
    case YAML_SCALAR_EVENT: {
        json_t *value = scalar(event);
        return value ? value : complain(r, "a text is not UTF-8", line);
    }
    case YAML_SEQUENCE_START_EVENT:
        return sequence(r, depth + 1);
    case YAML_MAPPING_START_EVENT:
        return mapping(r, depth + 1);
    default:
        return complain(r, "aliases are not taken", line);
    }
}

/* The first document. */
static json_t *document(struct reading *r)
{
    for (;;) {
        yaml_event_t event;
        if (!next(r, &event))
            return NULL;
        bool begins =
            event.type == YAML_STREAM_START_EVENT || event.type == YAML_DOCUMENT_START_EVENT;
        json_t *value = NULL;
        if (event.type == YAML_STREAM_END_EVENT)
            complain(r, "it is empty", 0);
        else if (!begins)
            value = node(r, &event, 0);
        yaml_event_delete(&event);
        if (!begins)
            return value;
    }
}

int regrade_read_yaml(const char *path, json_t **ret, kgrade_error *err)
{
    cleanup_bytes struct bytes text = {0};
    struct reading r = {.path = path, .err = err};
    if (!path || regrade_read_file(path, REGRADE_MAX_YAML_BYTES, &text, err))
        return -1;
    if (!yaml_parser_initialize(&r.parser))
        return fail(err, "out_of_memory", NULL, "There is no memory for %s.", path);
    yaml_parser_set_input_string(&r.parser, text.data, text.size);
    json_t *value = document(&r);
    yaml_parser_delete(&r.parser);
    if (!value)
        return -1;
    *ret = value;
    return 0;
}
