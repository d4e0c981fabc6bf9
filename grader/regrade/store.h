/*
 * What a regrade knows, in DIR/regrade.db: sources, entries, the candidates behind them, every result ever made.
 *
 * Entries with the same source text, task, language and device are one candidate: it is graded once.  Nothing is overwritten: a
 * second result of a candidate (after a fault, or from its recording) is kept beside the first.  The result that counts is the
 * latest one that says something of the candidate: an infrastructure error counts where there is nothing else, and one that the
 * noise of the machine left unresolved only until there is a better one.
 *
 * Each result is on the disk before the next grade is begun with, so a process that is killed loses what it was working on
 * and nothing else.  One process at a time may write (`regrade_busy`); readers may come at any time.
 *
 * A store may be used by one thread at a time.
 */
#ifndef KGRADE_REGRADE_STORE_H
#define KGRADE_REGRADE_STORE_H

#include <stdint.h>

#include "board.h"

#define REGRADE_DATABASE "regrade.db"

struct regrade_store;

/* Opens DIR for writing, making it where it is missing.  Errors: `regrade_busy`, `store_failed`, `store_damaged`,
 * `store_version`. */
int regrade_store_open(const char *folder, struct regrade_store **ret, kgrade_error *err);
/* To be read only.  Errors also: `no_regrade` (there is none in DIR). */
int regrade_store_open_reader(const char *folder, struct regrade_store **ret, kgrade_error *err);
void regrade_store_close(struct regrade_store *store);
static inline void cleanup_regrade_store_(struct regrade_store **store)
{
    regrade_store_close(*store);
}
#define cleanup_regrade_store __attribute__((cleanup(cleanup_regrade_store_)))

/* --- Reading, for the report -------------------------------------------------------------------- */

enum regrade_state {
    REGRADE_SKIPPED,  /* cannot be graded: entry.skip_code */
    REGRADE_LEFT_OUT, /* not chosen by --sample or --only */
    REGRADE_PLANNED,  /* chosen, not graded yet */
    REGRADE_GRADED,   /* there is a result, be it an infrastructure error */
};

/* "skipped", "left_out", "planned", "graded". */
const char *regrade_state_name(enum regrade_state state);

/* A source as it was read.  Strings as in struct regrade_source; they live as long as the callback runs. */
struct regrade_source_row {
    int64_t number;
    const char *adapter, *path;
    struct regrade_source source;
    const json_t *notes; /* array of sentences */
};

/* An entry with its result.  Lives as long as the callback runs. */
struct regrade_row {
    int64_t number;             /* of the entry */
    int64_t source;             /* number of its source */
    int64_t candidate;          /* entries with the same number have the same result; 0: none */
    struct regrade_entry entry; /* without its text: source is NULL; source_size is right */
    const char *source_hash;    /* SHA-256 of the text, hex; NULL: none */
    enum regrade_state state;
    /* Of the result that counts; NULL, NaN and 0 without one. */
    const char *verdict;     /* "accepted", ... */
    const char *reason_code; /* NULL when accepted */
    double score;
    bool from_recording; /* it was timed again from its recording */
    unsigned n_results;
    const char *recording_hash; /* names DIR/recordings/HASH.kgr; NULL: none is kept */
    /* The result, schema kgrade.grade/1; NULL without one, or when not asked for. */
    const json_t *result;
};

/* Calls take for every source, in the order of the command line.  take returns -1 with *err to end. */
int regrade_store_sources(const struct regrade_store *store,
                          int (*take)(void *data, const struct regrade_source_row *row,
                                      kgrade_error *err),
                          void *data, kgrade_error *err);

/* Calls take for every entry, ordered by source, board, problem, original rank, id.  with_results: also reads and parses
 * row.result, some 10 KB each. */
int regrade_store_each(const struct regrade_store *store, bool with_results,
                       int (*take)(void *data, const struct regrade_row *row, kgrade_error *err),
                       void *data, kgrade_error *err);

/* The result that counts of one candidate, a new reference; NULL without an error when there is none. */
int regrade_store_result(const struct regrade_store *store, int64_t candidate, json_t **ret,
                         kgrade_error *err);

/* --- Planning ----------------------------------------------------------------------------------- */

/* Begins to take in a source: all or nothing of it is kept.  A source that was read before is read again: once
 * something of it was graded, entries known by their id stay, with their results, and what stood on the board first is kept. */
int regrade_store_begin_source(struct regrade_store *store, const char *adapter, const char *path,
                               const struct regrade_source *source, kgrade_error *err);
/* The entry's device must be known.  Errors also: `bad_board` (an id twice, or too long; too many entries). */
int regrade_store_add(struct regrade_store *store, const struct regrade_entry *entry,
                      kgrade_error *err);
int regrade_store_add_note(struct regrade_store *store, const char *text, kgrade_error *err);
int regrade_store_end_source(struct regrade_store *store, bool keep, kgrade_error *err);

/* Which entries shall be graded: of those that can be, and whose id, author, problem, board or files match the pattern (as a shell's;
 * NULL: all), `sample` ones drawn by their ids (0: all), the same at every call. */
int regrade_store_choose(struct regrade_store *store, const char *pattern, uint64_t sample,
                         kgrade_error *err);

/* --- Working ------------------------------------------------------------------------------------ */

enum regrade_round {
    REGRADE_FIRST,      /* what has no result yet */
    REGRADE_AGAIN,      /* and what has infrastructure errors only */
    REGRADE_UNRESOLVED, /* and what is unresolved */
    REGRADE_RECORDINGS, /* what has a recording, again from that; a round that was interrupted goes on */
};

/* One candidate to be graded; regrade_job_free. */
struct regrade_job {
    int64_t candidate;
    char *task, *device, *language; /* language NULL: the device's first */
    char *source;                   /* NULL in a round of recordings */
    size_t source_size;
    char *recording_hash; /* in a round of recordings */
    char *name;           /* of an entry, for people */
    char
        grade_id[KGRADE_ID_DIGITS + 1]; /* the same until there is a result, also after a restart */
};
void regrade_job_free(struct regrade_job *job);

struct regrade_counts {
    uint64_t entries, skipped, left_out, chosen, graded; /* entries; graded ones are also chosen */
    uint64_t candidates, to_do; /* of the round: all of them, and those not finished yet */
    uint64_t unkept; /* candidates that a round of recordings leaves out: no recording is kept */
};

/* Begins or goes on with a round. */
int regrade_store_begin(struct regrade_store *store, enum regrade_round round, kgrade_error *err);
int regrade_store_counts(const struct regrade_store *store, struct regrade_counts *ret,
                         kgrade_error *err);
/* Whether the round has something to do on a device. */
int regrade_store_uses(const struct regrade_store *store, const char *device, bool *ret,
                       kgrade_error *err);
/* The next candidate of the round; 1 when there is none.  One that is neither finished nor refused comes again in the next round. */
int regrade_store_next(struct regrade_store *store, struct regrade_job *ret, kgrade_error *err);
/* Keeps a result (kgrade.grade/1) of a job; recording_hash: of the recording that was kept, NULL without. */
int regrade_store_finish(struct regrade_store *store, const struct regrade_job *job,
                         const char *result, const char *recording_hash, kgrade_error *err);
/* Is done with a job that can never be graded: its entries are skipped, with why's code and message.  In a round of recordings it is the
 * recording that is no good; the entries stay as they are. */
int regrade_store_refuse(struct regrade_store *store, const struct regrade_job *job,
                         const kgrade_error *why, kgrade_error *err);

#endif
