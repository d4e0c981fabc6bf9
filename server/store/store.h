/*
 * The store: every grade that was ever accepted, on disk, in SQLite.
 *
 * A job enters with store_add and is never changed but in its state: queued -> running -> done, or cancelled.  What
 * a callback has confirmed survives kill -9 and loss of power.  One thread writes, in groups, so that many requests
 * share one fsync; reads are made by the caller's thread, on a connection of their own.
 *
 * When the disk is full, read-only or locked by another program, store_add fails and ends of grades are kept in
 * memory and tried again until they are written: nothing is lost while the process lives, and store_health says what
 * is wrong.
 *
 * All functions may be called from any thread unless they say otherwise.
 */
#ifndef KGRADED_STORE_H
#define KGRADED_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../sandbox/base/error.h"

/* 32 lower-case hex digits and NUL; the first 12 are the time in ms, so that ids sort by age. */
#define STORE_ID_SIZE 33
#define STORE_HASH_SIZE 65 /* SHA-256 in hex and NUL */
/* Of task, device, language, owner, verdict and code: longer ones are refused. */
#define STORE_NAME_SIZE 64
#define STORE_MAX_KEY 255          /* bytes of an Idempotency-Key */
#define STORE_MAX_TEXT (64u << 20) /* bytes of a source or a result */
#define STORE_MAX_LIST 1000u       /* grades of one list */

enum store_state { STORE_QUEUED, STORE_RUNNING, STORE_DONE, STORE_CANCELLED };
const char *store_state_name(enum store_state state); /* "queued", ... */

/* What a client asked for.  Strings are the caller's. */
struct store_request {
    const char *id; /* of STORE_ID_SIZE - 1 digits */
    const char *task, *device, *language;
    const char *source;
    size_t source_size;
    const char *source_hash;     /* SHA-256 of the source */
    const char *owner;           /* name of the token; grades of others are not shown to agents */
    const char *idempotency_key; /* NULL: none; unique per owner */
    const char *request_hash;    /* of all that a repeated key must agree with */
    int64_t created_ms;          /* Unix time */
    int64_t deadline_ms;         /* the same; 0: none */
    bool profile;                /* a profile is wanted too */
};

/* A row.  Owned by the caller: store_row_free. */
struct store_row {
    char id[STORE_ID_SIZE], source_hash[STORE_HASH_SIZE], request_hash[STORE_HASH_SIZE];
    char task[STORE_NAME_SIZE], device[STORE_NAME_SIZE], language[STORE_NAME_SIZE];
    char owner[STORE_NAME_SIZE];
    enum store_state state;
    int64_t created_ms, started_ms, ended_ms; /* Unix time; 0: not yet */
    int64_t deadline_ms;                      /* 0: none */
    unsigned attempts;                        /* how often it was begun */
    char verdict[STORE_NAME_SIZE];            /* when done */
    char code[STORE_NAME_SIZE];               /* when done, "" for accepted; when cancelled: why */
    double score;
    bool profile; /* was wanted too */
    char *result; /* schema kgrade.grade/1, when done and asked for */
    char *source; /* when asked for */
    size_t source_size;
};
void store_row_free(struct store_row *row);

/* How a grade ended. */
struct store_end {
    const char *verdict, *code; /* names; code "" for accepted */
    double score;
    double score_low, score_high; /* confidence interval of the score; NaN where unknown */
    const char *task_hash;        /* content hash of the task; "" where unknown */
    const char *result;           /* JSON */
};

struct store;

/* Opens or makes the database at path, checks its integrity, migrates it, starts the writer.  Beside it are PATH-wal and
 * PATH-shm, and PATH-lock, which keeps a second kgraded away.  Jobs that were running when the last process ended are
 * queued again.  Errors: `store_damaged` (the hint says how to restore a backup),
 * `store_newer` (written by a newer kgraded), `store_busy` (another kgraded has it), `store_failed`. */
int store_open(const char *path, struct store **ret, kgrade_error *err);

/* Writes what is pending, for at most timeout_ns, and closes; what could not be written is answered with an error.  NULL
 * is allowed.  No other call may be under way.  Returns how many ends of grades could not be written.  When the disk
 * hangs for 2 s longer, nothing is freed, so that the writer's thread can go on hanging. */
unsigned store_close(struct store *store, uint64_t timeout_ns);

/* Called from the writer's thread, without a lock, when it is on disk (err NULL) or cannot be: `store_unavailable`, or
 * `too_long` for what is beyond the limits above.  For store_add also `idempotency_key_used`: the key is there already;
 * existing_id is then its job, else NULL; `invalid_id` and `id_used`.  Without memory for a copy it is called at once
 * with `store_unavailable`, by the caller's thread. */
typedef void (*store_done)(void *data, const char *existing_id, const kgrade_error *err);

/* Copies the request.  Answers through done, exactly once. */
void store_add(struct store *store, const struct store_request *request, store_done done,
               void *data);

/* A grade begins.  Not waited for: after a crash a queued and a running job are treated alike. */
void store_begin(struct store *store, const char *id);

/* A grade ended.  Written at most once per job: for one that is done or cancelled already it does nothing.  Retried
 * until it is on disk; done (may be NULL) is then called without error, or with one when the store closes first. */
void store_finish(struct store *store, const char *id, const struct store_end *end, store_done done,
                  void *data);

/* code says why: "cancelled", "deadline_exceeded", ...  As store_finish. */
void store_cancel(struct store *store, const char *id, const char *code, store_done done,
                  void *data);

enum store_parts { STORE_WITH_RESULT = 1, STORE_WITH_SOURCE = 2 };

/* 0 and a row, 1 when there is none, -1 with `store_unavailable`. */
int store_get(struct store *store, const char *id, unsigned parts, struct store_row *ret,
              kgrade_error *err);
int store_find_key(struct store *store, const char *owner, const char *key, struct store_row *ret,
                   kgrade_error *err);

/* The newest accepted-or-not but not infrastructure_error, suspect or unresolved grade of the same owner, task content,
 * device, language and source; with its result.  profile: one for which a profile was wanted too; else either will do.  As
 * store_get. */
int store_find_same(struct store *store, const char *owner, const char *task, const char *task_hash,
                    const char *device, const char *language, const char *source_hash, bool profile,
                    struct store_row *ret, kgrade_error *err);

/* Calls each for every queued job, oldest first, until it returns false.  For start-up.  The row has neither result nor
 * source. */
int store_queued(struct store *store, bool (*each)(void *data, const struct store_row *row),
                 void *data, kgrade_error *err);

/* The grades of an owner (NULL: of all), newest first, before an id of theirs (NULL: from the newest), as a JSON array of
 * objects {id, task, device, state, verdict, code, score, owner, created_at, ended_at, source_hash}; what is not known
 * yet is null.  At most STORE_MAX_LIST.  A new reference.  Errors: `unknown_grade` (before), `store_unavailable`. */
json_t *store_list(struct store *store, const char *owner, const char *before, unsigned limit,
                   kgrade_error *err);

/* The ranking of a task on a device, a new reference:
 *
 *     {task, device, task_hash, total, entries: [{rank, tie, score, score_low, score_high, owner,
 *       source_hash, same_source, grades, verdicts: {..}, score_id, best_id, latest_id, latest_at}]}
 *
 * One entry per owner and source, of all that are done.  Its score and interval are those of the
 * grade score_id, the median of its accepted grades of the current task content; task_hash is that
 * content: the one of the newest grade.  An entry whose interval overlaps with that of the one above
 * has its `tie`, the rank of the first of them.  Entries of different owners with the same source
 * share a number `same_source`; null for others.  Those without an accepted grade of the current
 * content come after, with rank, tie, scores, score_id and best_id null; nothing is hidden.  total
 * counts the entries beyond limit too. */
json_t *store_leaderboard(struct store *store, const char *task, const char *device, unsigned limit,
                          kgrade_error *err);

struct store_health {
    bool works;                       /* the last write reached the disk */
    kgrade_error error;               /* why not */
    uint64_t pending;                 /* writes that wait */
    uint64_t writes;                  /* transactions so far */
    double mean_write_s, max_write_s; /* of the last 128 transactions, from begin to fsync */
};
/* While it does not work, the writer tries by itself, at least every second.  Asked after 5 s without a write, it has the
 * writer make a trial write, so that the next answer knows of a full disk too.  Files that were removed or replaced are
 * seen at once. */
void store_health(struct store *store, struct store_health *ret);

/* A new id: 48 bits of time in ms, which never go back within a process, and 80 random bits. */
void store_new_id(char ret[STORE_ID_SIZE]);

#endif
