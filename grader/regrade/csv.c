#define _GNU_SOURCE
#include "csv.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"

static int complain(const struct regrade_csv *csv, const char *what, kgrade_error *err)
{
    return fail(err, "bad_board", "Export it again as CSV in UTF-8.", "%s, line %u: %s.", csv->path,
                csv->line, what);
}

/* One field into buffer, which has room for all that is left; the length in *ret. */
static int read_field(struct regrade_csv *csv, char *buffer, size_t *ret, kgrade_error *err)
{
    size_t n = 0;
    bool quoted = csv->at < csv->end && *csv->at == '"';
    if (quoted)
        csv->at++;
    for (; csv->at < csv->end; csv->at++) {
        char c = *csv->at;
        if (quoted && c == '"') {
            if (csv->at + 1 < csv->end && csv->at[1] == '"') {
                csv->at++;
            } else {
                csv->at++;
                quoted = false;
                if (csv->at < csv->end && !strchr(",\r\n", *csv->at))
                    return complain(csv, "text behind a closing quote", err);
                break;
            }
        } else if (!quoted && (c == ',' || c == '\n' || c == '\r')) {
            break;
        }
        csv->line += c == '\n';
        buffer[n++] = c;
    }
    if (quoted)
        return complain(csv, "a quote is not closed", err);
    *ret = n;
    return 0;
}

/* All fields of a record as an array of strings; 0 at the end. */
static int read_record(struct regrade_csv *csv, json_t **ret, kgrade_error *err)
{
    while (csv->at < csv->end && (*csv->at == '\n' || *csv->at == '\r')) { /* empty lines */
        csv->line += *csv->at == '\n';
        csv->at++;
    }
    if (csv->at == csv->end)
        return 0;
    csv->record = csv->line;
    cleanup_free char *buffer = malloc((size_t)(csv->end - csv->at) + 1);
    json_auto_t *fields = json_array();
    if (!buffer || !fields)
        return fail(err, "out_of_memory", NULL, "There is no memory for a record.");
    for (;;) {
        size_t size;
        if (read_field(csv, buffer, &size, err))
            return -1;
        if (json_array_size(fields) == REGRADE_MAX_COLUMNS)
            return complain(csv, "it has too many columns", err);
        if (json_array_append_new(fields, json_stringn(buffer, size)))
            return complain(csv, "it is not UTF-8", err);
        if (csv->at == csv->end || *csv->at != ',')
            break;
        csv->at++;
    }
    *ret = json_incref(fields);
    return 1;
}

int regrade_csv_open(const char *text, size_t size, const char *path, struct regrade_csv *ret,
                     kgrade_error *err)
{
    struct regrade_csv csv = {text, text + size, path, 1, 1, NULL};
    if (size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        csv.at += 3;
    int rc = read_record(&csv, &csv.names, err);
    if (rc == 0)
        return complain(&csv, "it has no header", err);
    if (rc < 0)
        return -1;
    *ret = csv;
    return 0;
}

void regrade_csv_close(struct regrade_csv *csv)
{
    json_decref(csv->names);
    csv->names = NULL;
}

int regrade_csv_next(struct regrade_csv *csv, json_t **ret, kgrade_error *err)
{
    json_auto_t *fields = NULL, *record = NULL;
    int rc = read_record(csv, &fields, err);
    if (rc <= 0)
        return rc;
    size_t i;
    json_t *field;
    record = json_object();
    json_array_foreach(fields, i, field)
    {
        const char *name = json_string_value(json_array_get(csv->names, i));
        if (!name) {
            csv->line = csv->record;
            return complain(csv, "a record has more fields than the header", err);
        }
        if (*json_string_value(field))
            json_object_set(record, name, field);
    }
    *ret = json_incref(record);
    return 1;
}
