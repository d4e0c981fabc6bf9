/* Taking boards in, and choosing of their entries. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "store_internal.h"

/* NULL for NULL; the caller frees. */
static char *dump(const json_t *json)
{
    return json ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
}

/* Of a source of which nothing was graded there is nothing to keep: a plan shows what is wrong with a board, which is then mended. */
static const char forget_ungraded[] =
    "DELETE FROM entries WHERE source = ?1 AND NOT EXISTS (SELECT 1 FROM entries AS e"
    " JOIN candidates AS c ON c.number = e.candidate"
    " WHERE e.source = ?1 AND c.current IS NOT NULL)";

int regrade_store_begin_source(struct regrade_store *store, const char *adapter, const char *path,
                               const struct regrade_source *source, kgrade_error *err)
{
    const struct regrade_db *db = &store->db;
    cleanup_free char *parameters = dump(source->rule_parameters), *tallies = dump(source->tallies);
    json_decref(store->notes);
    store->notes = json_array();
    store->added = store->differ = store->stay = 0;
    if (regrade_db_run(db, "BEGIN IMMEDIATE", err))
        return -1;
    if (regrade_db_run(db, "DELETE FROM seen", err) ||
        regrade_db_do(db, err,
                      "INSERT INTO sources (adapter, path, title, rule, parameters, clock, tallies)"
                      " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
                      " title = excluded.title, rule = excluded.rule, parameters = "
                      "excluded.parameters, clock = excluded.clock, tallies = excluded.tallies",
                      "sssssss", adapter, path, source->title ? source->title : path, source->rule,
                      parameters, source->clock, tallies) ||
        regrade_db_number(db, &store->source, 0, err,
                          "SELECT number FROM sources WHERE adapter = ? AND path = ?", "ss",
                          adapter, path) ||
        regrade_db_do(db, err, forget_ungraded, "i", store->source)) {
        regrade_db_run(db, "ROLLBACK", NULL);
        return -1;
    }
    return 0;
}

/* 63 bits that an id always gives. */
static int64_t draw_of(const char *id)
{
    char hex[HASH_HEX], first[17];
    hash_hex(id, strlen(id), hex);
    memcpy(first, hex, 16);
    first[16] = 0;
    return (int64_t)(strtoull(first, NULL, 16) >> 1);
}

/* The candidate that an entry names, which may be there already; 0 for an entry that cannot be graded. */
static int add_candidate(struct regrade_store *store, const struct regrade_entry *e, int64_t *ret,
                         kgrade_error *err)
{
    const struct regrade_db *db = &store->db;
    const char *language = e->language ? e->language : "";
    char hash[HASH_HEX];
    *ret = 0;
    if (e->skip_code || !e->source)
        return 0;
    hash_hex(e->source, e->source_size, hash);
    return regrade_db_do(db, err, "INSERT OR IGNORE INTO texts VALUES (?, ?)", "sb", hash,
                         (const void *)e->source, e->source_size) ||
                   regrade_db_do(db, err,
                                 "INSERT OR IGNORE INTO candidates (hash, task, device, language)"
                                 " VALUES (?, ?, ?, ?)",
                                 "ssss", hash, e->task, e->device, language) ||
                   regrade_db_number(
                       db, ret, 0, err,
                       "SELECT number FROM candidates WHERE hash = ? AND task = ? AND "
                       "device = ? AND language = ?",
                       "ssss", hash, e->task, e->device, language)
               ? -1
               : 0;
}

static int check_entry(const struct regrade_store *store, const struct regrade_entry *e,
                       kgrade_error *err)
{
    if (!e->id || !*e->id || strlen(e->id) > REGRADE_MAX_ID)
        return fail(err, "bad_board", NULL, "An entry's id has 1 to %u bytes.", REGRADE_MAX_ID);
    if (store->added >= REGRADE_MAX_ENTRIES)
        return fail(err, "bad_board", "Take a part of it.", "The source has more than %u entries.",
                    REGRADE_MAX_ENTRIES);
    if (!e->skip_code && (!e->source || !e->task || !e->device))
        return fail(err, "bad_board", NULL,
                    "The entry %s has no source, task or device, and no reason why.", e->id);
    int64_t seen;
    if (regrade_db_number(&store->db, &seen, 0, err, "SELECT 1 FROM seen WHERE id = ?", "s", e->id))
        return -1;
    if (seen)
        return fail(err, "bad_board", "Ids of entries must differ.",
                    "The source has two entries with the id %s.", e->id);
    return regrade_db_do(&store->db, err, "INSERT INTO seen VALUES (?)", "s", e->id);
}

/* The figures that are read first are kept, so that others are told of. */
static int compare_figures(struct regrade_store *store, const struct regrade_entry *e,
                           const char *cases, kgrade_error *err)
{
    const struct regrade_original *o = &e->original;
    int64_t differ;
    if (regrade_db_number(&store->db, &differ, 0, err,
                          "SELECT NOT (value IS ? AND unit IS ? AND lower = ? AND rank = ? AND"
                          " passed = ? AND cases IS ?) FROM entries WHERE source = ? AND id = ?",
                          "dsiiisis", o->value, o->unit, (int64_t)o->lower_is_better,
                          (int64_t)o->rank, (int64_t)o->passed, cases, store->source, e->id))
        return -1;
    store->differ += differ != 0;
    return 0;
}

/* Whether the entry has a result that it would lose, since its file is gone or no device here takes it. */
static int must_stay(struct regrade_store *store, const struct regrade_entry *e, int64_t *ret,
                     kgrade_error *err)
{
    *ret = 0;
    if (e->skip_code &&
        regrade_db_number(&store->db, ret, 0, err,
                          "SELECT c.current IS NOT NULL FROM entries AS e JOIN candidates AS c ON"
                          " c.number = e.candidate WHERE e.source = ? AND e.id = ?",
                          "is", store->source, e->id))
        return -1;
    store->stay += *ret != 0;
    return 0;
}

int regrade_store_add(struct regrade_store *store, const struct regrade_entry *e, kgrade_error *err)
{
    const struct regrade_original *o = &e->original;
    cleanup_free char *cases = dump(o->cases), *row = dump(o->row);
    int64_t candidate, stays;
    if (check_entry(store, e, err) || add_candidate(store, e, &candidate, err) ||
        compare_figures(store, e, cases, err) || must_stay(store, e, &stays, err))
        return -1;
    store->added++;
    if (stays)
        return 0;
    /* The original figures of an entry that is known are not touched. */
    if (regrade_db_do(
            &store->db, err,
            "INSERT INTO entries (source, id, board, problem, author, files, language, task, "
            "device,"
            " hardware, bytes, skip_code, skip_message, note, value, unit, rule, lower, rank,"
            " passed, cases, row, draw)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET board = excluded.board, problem = excluded.problem,"
            " author = excluded.author, files = excluded.files, language = excluded.language,"
            " task = excluded.task, device = excluded.device, bytes = excluded.bytes,"
            " skip_code = excluded.skip_code, skip_message = excluded.skip_message,"
            " note = excluded.note",
            "isssssssssisssdssiiissi", store->source, e->id, e->board, e->problem, e->author,
            e->files, e->language, e->task, e->device, e->hardware, (int64_t)e->source_size,
            e->skip_code, e->skip_message, e->note, o->value, o->unit, o->rule,
            (int64_t)o->lower_is_better, (int64_t)o->rank, (int64_t)o->passed, cases, row,
            draw_of(e->id)))
        return -1;
    return regrade_db_do(&store->db, err,
                         "UPDATE entries SET candidate = nullif(?, 0) WHERE source = ? AND id = ?",
                         "iis", candidate, store->source, e->id);
}

int regrade_store_add_note(struct regrade_store *store, const char *text, kgrade_error *err)
{
    if (json_array_append_new(store->notes, json_string(text)))
        return fail(err, "bad_board", NULL, "A note about the source is not UTF-8.");
    return 0;
}

/* What differs from when the source was read before. */
static int note_changes(struct regrade_store *store, kgrade_error *err)
{
    char text[256];
    int64_t gone;
    if (regrade_db_number(&store->db, &gone, 0, err,
                          "SELECT count(*) FROM entries WHERE source = ? AND id NOT IN"
                          " (SELECT id FROM seen)",
                          "i", store->source))
        return -1;
    snprintf(text, sizeof text,
             "Entries that were read before and are not in the source any more: %" PRId64
             ". They stay.",
             gone);
    if (gone && regrade_store_add_note(store, text, err))
        return -1;
    snprintf(text, sizeof text,
             "Entries that were graded before and could not be graded now, as without their files: "
             "%" PRIu64 ". They stay as they were.",
             store->stay);
    if (store->stay && regrade_store_add_note(store, text, err))
        return -1;
    snprintf(text, sizeof text,
             "Entries whose figures are other ones than when they were first read: %" PRIu64
             ". The first are kept; another folder for --out takes the new ones.",
             store->differ);
    return store->differ ? regrade_store_add_note(store, text, err) : 0;
}

int regrade_store_end_source(struct regrade_store *store, bool keep, kgrade_error *err)
{
    bool noted = keep && !note_changes(store, err);
    cleanup_free char *notes = dump(store->notes);
    if (noted &&
        !regrade_db_do(&store->db, err, "UPDATE sources SET notes = ? WHERE number = ?", "si",
                       notes ? notes : "[]", store->source) &&
        !regrade_db_run(&store->db, "COMMIT", err))
        return 0;
    regrade_db_run(&store->db, "ROLLBACK", NULL);
    return keep ? -1 : 0;
}

int regrade_store_choose(struct regrade_store *store, const char *pattern, uint64_t sample,
                         kgrade_error *err)
{
    int64_t limit = sample && sample < INT64_MAX ? (int64_t)sample : -1;
    return regrade_db_do(
        &store->db, err,
        "UPDATE entries SET chosen = number IN (SELECT number FROM entries"
        " WHERE candidate IS NOT NULL AND skip_code IS NULL"
        " AND (?1 IS NULL OR id GLOB ?1 OR author GLOB ?1 OR problem GLOB ?1 OR board GLOB ?1 OR"
        " files GLOB ?1) ORDER BY draw, number LIMIT ?2)",
        "si", pattern, limit);
}
