/*
 * What the files of the store share.
 *
 * The writer's thread owns one connection; everybody else reads through a pool of others, each used
 * by one thread at a time.  WAL lets them read what was last committed while a write is going on.
 */
#ifndef KGRADED_STORE_INTERNAL_H
#define KGRADED_STORE_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "store.h"

#define STORE_READERS_KEPT 4u         /* idle connections that are kept open */
#define STORE_READER_CACHE_KIB "8192" /* at most, of each */
#define STORE_LATENCIES 128u          /* transactions whose times are remembered */

/* Which file a path named. */
struct identity {
    dev_t device;
    ino_t inode;
};

/* reader.c */
enum read_statement {
    READ_GET, /* and the three others with the parts that enum store_parts names */
    READ_GET_LAST = READ_GET + 3,
    READ_KEY,
    READ_SAME,
    READ_QUEUED,
    READ_SEQ,
    READ_LIST,
    READ_LIST_OWNER,
    READ_BOARD,
    READ_STATEMENTS
};

struct reader {
    sqlite3 *db;
    sqlite3_stmt *statements[READ_STATEMENTS];
    struct reader *next;
};

/* A connection for the calling thread and one of its statements, reset and without bindings; NULL
 * with `store_unavailable`. */
struct reader *reader_take(struct store *store, enum read_statement which, sqlite3_stmt **ret,
                           kgrade_error *err);
/* One more statement of a reader that was taken. */
sqlite3_stmt *reader_statement(struct store *store, struct reader *reader,
                               enum read_statement which, kgrade_error *err);
/* Gives it back; its statements end. */
void reader_give(struct store *store, struct reader *reader);
/* Makes the error of a step that did not return a row or the end, and closes the reader. */
int reader_fail(struct store *store, struct reader *reader, kgrade_error *err);
void readers_close(struct store *store);

void bind_text(sqlite3_stmt *statement, int parameter, const char *text);
/* "" for NULL; valid until the next step. */
const char *column_text(sqlite3_stmt *statement, int column);

/* op.c: something to be written, with copies of all strings. */
enum op_kind { OP_ADD, OP_BEGIN, OP_FINISH, OP_CANCEL };

struct op {
    struct op *next;
    enum op_kind kind;
    const char *id;
    struct store_request request;
    struct store_end end; /* of OP_CANCEL only the code */
    int64_t at_ms;        /* when it was asked for */
    size_t bytes;
    store_done done;
    void *data;
    char existing[STORE_ID_SIZE]; /* the job that has the key already */
    bool refused;                 /* as error says, whatever the disk does */
    kgrade_error error;
    char text[];
};

/* write.c: the SQL of the writer's thread. */
enum write_statement {
    WRITE_BEGIN,
    WRITE_COMMIT,
    WRITE_ROLLBACK,
    WRITE_TRIAL,
    WRITE_JOB,
    WRITE_SOURCE,
    WRITE_FIND_KEY,
    WRITE_START,
    WRITE_END,
    WRITE_RESULT,
    WRITE_STATEMENTS
};

int write_prepare(struct store *store, kgrade_error *err);
void write_finalize(struct store *store);
/* All of the list in one transaction, or nothing; an empty list is a write of no meaning that tries
 * the disk.  What an operation itself is to blame for is noted in it.  Error: `store_unavailable`. */
int write_group(struct store *store, struct op *group, kgrade_error *err);

/* writer.c */
/* Starts the thread. */
int writer_start(struct store *store, kgrade_error *err);
/* Lets the thread write until the deadline and waits for it.  False when it hangs: then nothing that
 * it uses may be freed. */
bool writer_stop(struct store *store, uint64_t deadline, unsigned *ret_unwritten);
/* Hands an operation to the thread. */
void writer_put(struct store *store, struct op *op);

/* store.c */
/* Whether the files are still those that were opened; else an error `store_unavailable`. */
int store_in_place(const struct store *store, kgrade_error *err);
/* Closes what is open of the database, which writes to the disk as well: the writer's thread does it, since a disk that hangs must
 * hang nobody else. */
void store_close_database(struct store *store);

struct store {
    char *path, *wal_path;
    int lock; /* of the file PATH-lock; held as long as the store is open */
    struct identity file, wal;

    pthread_mutex_t readers_mutex;
    struct reader *readers; /* idle ones */
    unsigned n_readers;

    /* Of the writer's thread alone. */
    sqlite3 *db;
    sqlite3_stmt *statements[WRITE_STATEMENTS];
    pthread_t thread;
    bool has_thread;

    /* Between the writer's thread and others. */
    pthread_mutex_t mutex;
    pthread_cond_t wake, ended;
    struct op *first, **last; /* waiting, in the order in which they were asked for */
    unsigned waiting, waiting_adds, in_flight;
    bool broken; /* the last write failed, as `error` says */
    kgrade_error error;
    uint64_t retry_at;   /* when broken: CLOCK_MONOTONIC ns */
    uint64_t last_write; /* the last one that succeeded */
    bool trial_wanted, closing, has_ended;
    uint64_t close_deadline;
    unsigned unwritten; /* ends of grades that were given up */
    uint64_t writes;
    double latencies[STORE_LATENCIES]; /* a ring of the last, in s */
};

#endif
