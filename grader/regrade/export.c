#define _GNU_SOURCE
#include "export.h"

#include <math.h>
#include <string.h>

#include "../../sandbox/base/fail.h"

static const char *const states[] = {[REGRADE_SKIPPED] = "skipped",
                                     [REGRADE_LEFT_OUT] = "left_out",
                                     [REGRADE_PLANNED] = "planned",
                                     [REGRADE_GRADED] = "graded"};

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
        e->hardware, "state", states[row->state], "skip", skip, "note", e->note, "original",
        original_json(&e->original), "candidate", (json_int_t)row->candidate, "source_hash",
        row->source_hash, "recording_hash", row->recording_hash, "from_recording",
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

/* --- CSV ---------------------------------------------------------------------------------------- */

static void write_text(FILE *file, const char *text)
{
    text = text ? text : "";
    bool quotes = strpbrk(text, ",\"\r\n") != NULL;
    if (quotes)
        putc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', file);
        putc(*text, file);
    }
    if (quotes)
        putc('"', file);
    putc(',', file);
}

static void write_number(FILE *file, double value)
{
    if (isfinite(value))
        fprintf(file, "%.17g", value);
    putc(',', file);
}

static int write_record(void *data, const struct regrade_row *row, kgrade_error *err)
{
    (void)err;
    FILE *file = data;
    const struct regrade_entry *e = &row->entry;
    const char *texts[] = {e->board,
                           e->problem,
                           e->id,
                           e->author,
                           e->files,
                           e->language,
                           e->task,
                           e->device,
                           states[row->state],
                           row->verdict,
                           row->state == REGRADE_SKIPPED ? e->skip_code : row->reason_code};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        write_text(file, texts[i]);
    write_number(file, row->score);
    write_number(file, e->original.value);
    write_text(file, e->original.unit);
    write_number(file, e->original.rank ? e->original.rank : NAN);
    fprintf(file, "%s\r\n",
            e->original.passed == REGRADE_PASS_UNSAID ? ""
            : e->original.passed == REGRADE_PASSED    ? "true"
                                                      : "false");
    return 0;
}

int regrade_export_csv(const struct regrade_store *store, FILE *file, kgrade_error *err)
{
    fputs("board,problem,id,author,files,language,task,device,state,verdict,code,score,"
          "original_value,original_unit,original_rank,original_passed\r\n",
          file);
    return regrade_store_each(store, false, write_record, file, err);
}
