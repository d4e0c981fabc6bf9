/* Reading single grades and lists of them. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/fail.h"
#include "../value.h"
#include "internal.h"

/* Columns of the statements that return rows. */
enum {
    ROW_ID,
    ROW_TASK,
    ROW_DEVICE,
    ROW_LANGUAGE,
    ROW_OWNER,
    ROW_SOURCE_HASH,
    ROW_REQUEST_HASH,
    ROW_STATE,
    ROW_CREATED,
    ROW_STARTED,
    ROW_ENDED,
    ROW_DEADLINE,
    ROW_ATTEMPTS,
    ROW_VERDICT,
    ROW_CODE,
    ROW_SCORE,
    ROW_PROFILE,
    ROW_RESULT,
    ROW_SOURCE
};

static void take_text(sqlite3_stmt *statement, int column, char *ret, size_t size)
{
    const char *text = column_text(statement, column);
    size_t length = (size_t)sqlite3_column_bytes(statement, column);
    if (length >= size)
        length = size - 1;
    memcpy(ret, text, length);
    ret[length] = 0;
}

/* A copy with a NUL behind it; NULL for SQL's NULL or without memory, which *failed tells apart. */
static char *take_bytes(sqlite3_stmt *statement, int column, size_t *ret_size, bool *failed)
{
    *ret_size = 0;
    if (sqlite3_column_type(statement, column) == SQLITE_NULL)
        return NULL;
    const void *data = sqlite3_column_blob(statement, column);
    size_t size = (size_t)sqlite3_column_bytes(statement, column);
    char *copy = (data || !size) ? malloc(size + 1) : NULL;
    if (!copy) {
        *failed = true;
        return NULL;
    }
    if (size)
        memcpy(copy, data, size);
    copy[size] = 0;
    *ret_size = size;
    return copy;
}

static int take_row(sqlite3_stmt *s, struct store_row *ret, kgrade_error *err)
{
    *ret = (struct store_row){
        .state = (enum store_state)sqlite3_column_int(s, ROW_STATE),
        .created_ms = sqlite3_column_int64(s, ROW_CREATED),
        .started_ms = sqlite3_column_int64(s, ROW_STARTED),
        .ended_ms = sqlite3_column_int64(s, ROW_ENDED),
        .deadline_ms = sqlite3_column_int64(s, ROW_DEADLINE),
        .attempts = (unsigned)sqlite3_column_int(s, ROW_ATTEMPTS),
        .score = sqlite3_column_double(s, ROW_SCORE),
        .profile = sqlite3_column_int(s, ROW_PROFILE),
    };
    take_text(s, ROW_ID, ret->id, sizeof ret->id);
    take_text(s, ROW_TASK, ret->task, sizeof ret->task);
    take_text(s, ROW_DEVICE, ret->device, sizeof ret->device);
    take_text(s, ROW_LANGUAGE, ret->language, sizeof ret->language);
    take_text(s, ROW_OWNER, ret->owner, sizeof ret->owner);
    take_text(s, ROW_SOURCE_HASH, ret->source_hash, sizeof ret->source_hash);
    take_text(s, ROW_REQUEST_HASH, ret->request_hash, sizeof ret->request_hash);
    take_text(s, ROW_VERDICT, ret->verdict, sizeof ret->verdict);
    take_text(s, ROW_CODE, ret->code, sizeof ret->code);
    size_t result_size;
    bool failed = false;
    ret->result = take_bytes(s, ROW_RESULT, &result_size, &failed);
    ret->source = take_bytes(s, ROW_SOURCE, &ret->source_size, &failed);
    if (!failed)
        return 0;
    store_row_free(ret);
    return fail(err, "store_unavailable", NULL, "There is no memory for a grade of the store.");
}

/* Ends a look-up whose parameters are bound. */
static int one_row(struct store *store, struct reader *reader, sqlite3_stmt *statement,
                   struct store_row *ret, kgrade_error *err)
{
    int rc = sqlite3_step(statement);
    int status = 1;
    if (rc == SQLITE_ROW)
        status = take_row(statement, ret, err);
    else if (rc != SQLITE_DONE)
        return reader_fail(store, reader, err);
    reader_give(store, reader);
    return status;
}

int store_get(struct store *store, const char *id, unsigned parts, struct store_row *ret,
              kgrade_error *err)
{
    sqlite3_stmt *statement;
    enum read_statement which =
        (enum read_statement)(READ_GET + (parts & (STORE_WITH_RESULT | STORE_WITH_SOURCE)));
    struct reader *reader = reader_take(store, which, &statement, err);
    if (!reader)
        return -1;
    bind_text(statement, 1, id);
    return one_row(store, reader, statement, ret, err);
}

int store_find_key(struct store *store, const char *owner, const char *key, struct store_row *ret,
                   kgrade_error *err)
{
    sqlite3_stmt *statement;
    struct reader *reader = reader_take(store, READ_KEY, &statement, err);
    if (!reader)
        return -1;
    bind_text(statement, 1, owner);
    sqlite3_bind_blob64(statement, 2, key, strlen(key), SQLITE_STATIC);
    return one_row(store, reader, statement, ret, err);
}

int store_find_same(struct store *store, const char *owner, const char *task, const char *task_hash,
                    const char *device, const char *language, const char *source_hash, bool profile,
                    struct store_row *ret, kgrade_error *err)
{
    sqlite3_stmt *statement;
    struct reader *reader = reader_take(store, READ_SAME, &statement, err);
    if (!reader)
        return -1;
    bind_text(statement, 1, task);
    bind_text(statement, 2, device);
    bind_text(statement, 3, owner);
    bind_text(statement, 4, source_hash);
    bind_text(statement, 5, language);
    bind_text(statement, 6, task_hash);
    sqlite3_bind_int(statement, 7, profile);
    return one_row(store, reader, statement, ret, err);
}

int store_queued(struct store *store, bool (*each)(void *data, const struct store_row *row),
                 void *data, kgrade_error *err)
{
    sqlite3_stmt *statement;
    struct reader *reader = reader_take(store, READ_QUEUED, &statement, err);
    if (!reader)
        return -1;
    int status = 0, rc;
    bool more = true;
    while (more && (rc = sqlite3_step(statement)) != SQLITE_DONE) {
        struct store_row row;
        if (rc != SQLITE_ROW)
            return reader_fail(store, reader, err);
        status = take_row(statement, &row, err);
        more = status == 0 && each(data, &row);
    }
    reader_give(store, reader);
    return status;
}

/* --- Lists -------------------------------------------------------------------------------------- */

enum {
    ITEM_ID,
    ITEM_TASK,
    ITEM_DEVICE,
    ITEM_STATE,
    ITEM_VERDICT,
    ITEM_CODE,
    ITEM_SCORE,
    ITEM_OWNER,
    ITEM_CREATED,
    ITEM_ENDED,
    ITEM_SOURCE_HASH
};

static json_t *text_or_null(sqlite3_stmt *statement, int column)
{
    const char *text = column_text(statement, column);
    return *text ? json_string(text) : json_null();
}

static json_t *item_json(sqlite3_stmt *s)
{
    enum store_state state = (enum store_state)sqlite3_column_int(s, ITEM_STATE);
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:s}", "id",
                     column_text(s, ITEM_ID), "task", column_text(s, ITEM_TASK), "device",
                     column_text(s, ITEM_DEVICE), "state", store_state_name(state), "verdict",
                     text_or_null(s, ITEM_VERDICT), "code", text_or_null(s, ITEM_CODE), "score",
                     state == STORE_DONE ? value_number(sqlite3_column_double(s, ITEM_SCORE))
                                         : json_null(),
                     "owner", column_text(s, ITEM_OWNER), "created_at",
                     value_time(sqlite3_column_int64(s, ITEM_CREATED)), "ended_at",
                     value_time(sqlite3_column_int64(s, ITEM_ENDED)), "source_hash",
                     column_text(s, ITEM_SOURCE_HASH));
}

/* The place of a grade in the order of acceptance. */
static int find_seq(struct store *store, const char *owner, const char *id, int64_t *ret,
                    kgrade_error *err)
{
    sqlite3_stmt *statement;
    struct reader *reader = reader_take(store, READ_SEQ, &statement, err);
    if (!reader)
        return -1;
    bind_text(statement, 1, id);
    if (owner)
        bind_text(statement, 2, owner);
    else
        sqlite3_bind_null(statement, 2);
    int rc = sqlite3_step(statement);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return reader_fail(store, reader, err);
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int64(statement, 0);
    reader_give(store, reader);
    if (rc == SQLITE_DONE)
        return fail(err, "unknown_grade", "Begin from the newest, without `before`.",
                    "There is no grade %.64s.", id);
    return 0;
}

json_t *store_list(struct store *store, const char *owner, const char *before, unsigned limit,
                   kgrade_error *err)
{
    int64_t seq = INT64_MAX;
    if (before && find_seq(store, owner, before, &seq, err))
        return NULL;
    sqlite3_stmt *statement;
    struct reader *reader =
        reader_take(store, owner ? READ_LIST_OWNER : READ_LIST, &statement, err);
    if (!reader)
        return NULL;
    sqlite3_bind_int64(statement, 1, seq);
    sqlite3_bind_int64(statement, 2, limit < STORE_MAX_LIST ? limit : STORE_MAX_LIST);
    if (owner)
        bind_text(statement, 3, owner);
    json_t *list = json_array();
    int rc;
    bool failed = !list;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW && !failed)
        failed = json_array_append_new(list, item_json(statement));
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        json_decref(list);
        reader_fail(store, reader, err);
        return NULL;
    }
    reader_give(store, reader);
    if (failed) {
        json_decref(list);
        fail_set(err, "store_unavailable", NULL, "There is no memory for a list of grades.");
        return NULL;
    }
    return list;
}
