#define _GNU_SOURCE
#include "export.h"

#include <math.h>

#include "../../sandbox/base/fail.h"

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *passed(enum regrade_passed passed)
{
    return passed == REGRADE_PASS_UNSAID ? json_null() : json_boolean(passed == REGRADE_PASSED);
}

static json_t *original_json(const struct regrade_original *o)
{
    return json_pack("{s:o, s:s?, s:s?, s:b, s:o, s:o, s:O?, s:O?}", "value", number(o->value),
                     "unit", o->unit, "rule", o->rule, "lower_is_better", o->lower_is_better,
                     "rank", o->rank ? json_integer(o->rank) : json_null(), "passed",
                     passed(o->passed), "cases", o->cases, "row", o->row);
}

static int write_line(void *data, const struct regrade_row *row, kgrade_error *err)
{
    FILE *file = data;
    const struct regrade_entry *e = &row->entry;
    json_auto_t *skip =
        e->skip_code ? json_pack("{s:s, s:s?}", "code", e->skip_code, "message", e->skip_message)
                     : json_null();
    json_auto_t *line = json_pack(
        "{s:s, s:s, s:s, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s, s:O, s:s?, s:o, s:I, s:s?, s:s?, "
        "s:b, s:i, s:O?}",
        "id", e->id, "board", e->board, "problem", e->problem, "author", e->author, "files",
        e->files, "language", e->language, "task", e->task, "device", e->device, "hardware",
        e->hardware, "state", regrade_state_name(row->state), "skip", skip, "note", e->note,
        "original", original_json(&e->original), "candidate", (json_int_t)row->candidate,
        "source_hash", row->source_hash, "recording_hash", row->recording_hash, "from_recording",
        row->from_recording, "results", (int)row->n_results, "result", row->result);
    if (!line || json_dumpf(line, file, JSON_COMPACT))
        return fail(err, "out_of_memory", NULL, "The entry %s cannot be written as JSON.", e->id);
    putc('\n', file);
    return 0;
}

int regrade_export_jsonl(const struct regrade_store *store, FILE *file, kgrade_error *err)
{
    return regrade_store_each(store, true, write_line, file, err);
}
