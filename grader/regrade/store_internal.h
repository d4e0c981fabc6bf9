/* What the files of the store share: store.c opens it, plan.c takes boards in, rounds.c hands work out, rows.c reads. */
#ifndef KGRADE_REGRADE_STORE_INTERNAL_H
#define KGRADE_REGRADE_STORE_INTERNAL_H

#include "../hash.h"
#include "database.h"
#include "store.h"

#define REGRADE_RUN_DIGITS 32

struct regrade_store {
    struct regrade_db db;
    char *folder;
    int lock; /* -1 for a reader */
    char
        run[REGRADE_RUN_DIGITS + 1]; /* of the folder: what tells its grades from those of others */
    int64_t source;                  /* that is being taken in; 0: none */
    uint64_t added;                  /* entries of it */
    uint64_t differ; /* of these, entries that had other figures when they were first read */
    uint64_t stay;   /* of these, entries that have a result and could not be graded any more */
    json_t *notes;
    enum regrade_round round;
    int64_t round_number;    /* 0: from sources; else the number of the round of recordings */
    uint64_t unkept, before; /* as struct regrade_counts'; done with before the round was begun */
};

/* DIR/recordings/HASH.kgr; the caller frees. */
char *regrade_store_recording_path(const struct regrade_store *store, const char *hash);

#endif
