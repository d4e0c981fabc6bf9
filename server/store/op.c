/* What callers ask the writer for: operations with copies of all that they need. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "internal.h"

static const char *copy(char **at, const void *text, size_t size)
{
    char *start = *at;
    if (size)
        memcpy(start, text, size);
    start[size] = 0;
    *at += size + 1;
    return start;
}

static size_t length(const char *text)
{
    return text ? strlen(text) : 0;
}

static const char *copy_text(char **at, const char *text)
{
    return copy(at, text, length(text));
}

static struct op *new_op(enum op_kind kind, const char *id, size_t bytes, store_done done,
                         void *data)
{
    bytes += length(id) + 1;
    struct op *op = calloc(1, sizeof *op + bytes);
    if (!op) {
        kgrade_error error;
        fail_set(&error, "store_unavailable", NULL, "There is no memory to keep what to write.");
        if (done)
            done(data, NULL, &error);
        return NULL;
    }
    op->kind = kind;
    op->bytes = bytes;
    op->at_ms = io_unix_ms();
    op->done = done;
    op->data = data;
    return op;
}

/* Refuses what the tables, or the readers of rows, have no room for. */
static void check_length(struct op *op, const char *what, size_t size, size_t limit)
{
    if (size <= limit || op->refused)
        return;
    op->refused = true;
    fail_set(&op->error, "too_long", NULL, "The %s has %zu bytes; at most %zu can be stored.", what,
             size, limit);
}

static void check_request(struct op *op, const struct store_request *request)
{
    if (length(request->id) != STORE_ID_SIZE - 1 ||
        strspn(request->id, "0123456789abcdef") != STORE_ID_SIZE - 1) {
        op->refused = true;
        fail_set(&op->error, "invalid_id", NULL, "An id has %d lower-case hex digits.",
                 STORE_ID_SIZE - 1);
    }
    check_length(op, "task's name", length(request->task), STORE_NAME_SIZE - 1);
    check_length(op, "device's name", length(request->device), STORE_NAME_SIZE - 1);
    check_length(op, "language's name", length(request->language), STORE_NAME_SIZE - 1);
    check_length(op, "owner's name", length(request->owner), STORE_NAME_SIZE - 1);
    check_length(op, "source's hash", length(request->source_hash), STORE_HASH_SIZE - 1);
    check_length(op, "request's hash", length(request->request_hash), STORE_HASH_SIZE - 1);
    check_length(op, "Idempotency-Key", length(request->idempotency_key), STORE_MAX_KEY);
    check_length(op, "source", request->source_size, STORE_MAX_TEXT);
}

void store_add(struct store *store, const struct store_request *request, store_done done,
               void *data)
{
    const char *const texts[] = {
        request->task,        request->device,       request->language,       request->owner,
        request->source_hash, request->request_hash, request->idempotency_key};
    size_t bytes = request->source_size + 1;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        bytes += length(texts[i]) + 1;
    struct op *op = new_op(OP_ADD, request->id, bytes, done, data);
    if (!op)
        return;

    char *at = op->text;
    op->id = copy_text(&at, request->id);
    op->request = (struct store_request){
        .id = op->id,
        .task = copy_text(&at, request->task),
        .device = copy_text(&at, request->device),
        .language = copy_text(&at, request->language),
        .source = copy(&at, request->source, request->source_size),
        .source_size = request->source_size,
        .source_hash = copy_text(&at, request->source_hash),
        .owner = copy_text(&at, request->owner),
        .idempotency_key =
            request->idempotency_key ? copy_text(&at, request->idempotency_key) : NULL,
        .request_hash = copy_text(&at, request->request_hash),
        .created_ms = request->created_ms,
        .deadline_ms = request->deadline_ms,
        .profile = request->profile,
    };
    check_request(op, request);
    writer_put(store, op);
}

void store_begin(struct store *store, const char *id)
{
    struct op *op = new_op(OP_BEGIN, id, 0, NULL, NULL);
    if (!op)
        return;
    char *at = op->text;
    op->id = copy_text(&at, id);
    writer_put(store, op);
}

static void put_end(struct store *store, enum op_kind kind, const char *id,
                    const struct store_end *end, store_done done, void *data)
{
    size_t bytes =
        length(end->verdict) + length(end->code) + length(end->task_hash) + length(end->result) + 4;
    struct op *op = new_op(kind, id, bytes, done, data);
    if (!op)
        return;
    char *at = op->text;
    op->id = copy_text(&at, id);
    op->end = (struct store_end){
        .verdict = copy_text(&at, end->verdict),
        .code = copy_text(&at, end->code),
        .score = end->score,
        .score_low = end->score_low,
        .score_high = end->score_high,
        .task_hash = copy_text(&at, end->task_hash),
        .result = copy_text(&at, end->result),
    };
    check_length(op, "verdict", length(end->verdict), STORE_NAME_SIZE - 1);
    check_length(op, "code", length(end->code), STORE_NAME_SIZE - 1);
    check_length(op, "task's hash", length(end->task_hash), STORE_HASH_SIZE - 1);
    check_length(op, "result", length(end->result), STORE_MAX_TEXT);
    writer_put(store, op);
}

void store_finish(struct store *store, const char *id, const struct store_end *end, store_done done,
                  void *data)
{
    put_end(store, OP_FINISH, id, end, done, data);
}

void store_cancel(struct store *store, const char *id, const char *code, store_done done,
                  void *data)
{
    struct store_end end = {.code = code};
    put_end(store, OP_CANCEL, id, &end, done, data);
}
