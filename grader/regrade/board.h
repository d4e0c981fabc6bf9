/*
 * What an adapter makes of a leaderboard that exists: sources and their entries.
 *
 * A source is what stands on the command line: a folder or a file.  An adapter reads it without changing it, tells what
 * it is (struct regrade_source), and hands over its entries one by one; it keeps none, so that an export of a hundred
 * thousand submissions needs no more memory than one.  An entry is one candidate that the board ranked or refused, with the
 * figures that it had there.  What cannot be graded here is an entry, too, with the reason: no row of a board gets lost.
 *
 * Adding an adapter: one file with a `const struct regrade_adapter`, and one line in adapters.c.
 */
#ifndef KGRADE_REGRADE_BOARD_H
#define KGRADE_REGRADE_BOARD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "kgrade/kgrade.h"

/* Of one file of a source; larger ones are answered with `file_too_large`. */
#define REGRADE_MAX_FILE_BYTES (1u << 30)
/* Entries of one source. */
#define REGRADE_MAX_ENTRIES 1000000u
/* Characters of an id. */
#define REGRADE_MAX_ID 512u

enum regrade_passed {
    REGRADE_PASS_UNSAID,
    REGRADE_PASSED,
    REGRADE_FAILED,
};

/* What stood on the board.  Kept beside the new figures for ever. */
struct regrade_original {
    double value;     /* NaN: none */
    const char *unit; /* "s", "ms", "us", "ns", "ratio" (a speedup), "points"; NULL: not said */
    const char
        *rule; /* by which the value was made, as struct regrade_source's; NULL: the source's */
    bool lower_is_better;
    unsigned rank; /* 0: the board did not say */
    enum regrade_passed passed;
    /* Single figures behind the value, NULL without: [{"id", "time_ns", "baseline_ns", "method"}], the last two where they
     * are known; a time that was not measured is null. */
    const json_t *cases;
    const json_t *row; /* the board's own record of it, unchanged; NULL: there is none */
};

/* One candidate.  Strings may be foreign: any UTF-8 text.  All belongs to the adapter and is good for the call alone. */
struct regrade_entry {
    const char *id;       /* the same whenever the source is read; unique within it */
    const char *board;    /* entries of one board are ranked against each other */
    const char *problem;  /* of the board; the board's name where it has one problem only */
    const char *author;   /* NULL: unknown */
    const char *files;    /* names as the board has them, separated by ", " */
    const char *language; /* "cuda", "c", "python", "triton", ...; NULL: unknown */
    const char *task;     /* ours; NULL: none fits */
    const char *device;   /* ours; NULL: as --device says, else the first that has the language */
    const char *hardware; /* that the board names, such as "H100"; NULL: unknown */
    /* What is graded: one file, or what kgrade_bundle makes of several; NULL: there is none. */
    const char *source;
    size_t source_size;
    /* Why it cannot be graded: a code and a sentence that says what is not carried.  NULL: it can. */
    const char *skip_code, *skip_message;
    const char *note; /* what was changed so that it can be graded; NULL: nothing */
    struct regrade_original original;
};

/* What a source is.  Set by the adapter before the first entry. */
struct regrade_source {
    const char *title; /* for people */
    /* How the board makes one figure of several: "last", "mean", "geom", "fast_p", "arena", "arena_pr77", "speedup_factor",
     * "score" (geometric mean of baseline / candidate, ours); and what the rule needs, an object or NULL. */
    const char *rule;
    const json_t *rule_parameters;
    const char *clock;     /* how the board took times, a sentence for the report; NULL: unknown */
    const json_t *tallies; /* whatever else the report should tell, {"name": value}; NULL */
};

/* A problem of a board that is Python, to be carried over as a task: see problem.h. */
struct regrade_problem;

/* What became of it.  Strings are good until the next call. */
struct regrade_carried {
    const char *task;                     /* NULL: it cannot be carried */
    const char *device;                   /* that its entries are for; NULL: as for others */
    const char *skip_code, *skip_message; /* then why its entries cannot be graded */
};

/* Where an adapter delivers.  The functions return -1 with *err to end the reading. */
struct regrade_sink {
    int (*begin)(void *data, const struct regrade_source *source, kgrade_error *err);
    int (*take)(void *data, const struct regrade_entry *entry, kgrade_error *err);
    /* Something about the source as a whole that is not carried, or was doubtful: a sentence. */
    int (*note)(void *data, const char *text, kgrade_error *err);
    void *data;
    /* Makes a task of a problem before its entries come.  NULL: nothing is carried over here. */
    int (*carry)(void *data, const struct regrade_problem *problem, struct regrade_carried *ret,
                 kgrade_error *err);
};

/* What an adapter may want to know. */
struct regrade_wishes {
    const char *task, *device; /* of --task and --device; NULL: not said */
    /* Array of our tasks: {"name", "devices": [{"name", "languages": ["c", ...]}], ...}, as GET /tasks lists them. */
    const json_t *tasks;
};

struct regrade_adapter {
    const char *name;
    /* Whether path is what this adapter reads; looks at names and first bytes only. */
    bool (*recognise)(const char *path);
    /* Errors: `file_unreadable`, `file_too_large`, `bad_board` (what is wrong where), and those of the sink. */
    int (*read)(const char *path, const struct regrade_wishes *wishes,
                const struct regrade_sink *sink, kgrade_error *err);
};

/* sink's carry; where it has none, `needs_python`. */
int regrade_carry(const struct regrade_sink *sink, const struct regrade_problem *problem,
                  struct regrade_carried *ret, kgrade_error *err);

/* Of the wishes' tasks; NULL: there is none of that name. */
const json_t *regrade_find_task(const struct regrade_wishes *wishes, const char *name);

/* Fills in what an adapter left open: the task of --task, the device; and tells why the entry cannot be graded where that is plain by
 * now, as `no_task`, `no_source`, `needs_python`, `unknown_language`, `task_not_for_device`.  Strings that it sets live as long as
 * the wishes, or for ever. */
void regrade_complete(struct regrade_entry *entry, const struct regrade_wishes *wishes);

/* adapters.c: ends with NULL; the first that recognises a path reads it. */
extern const struct regrade_adapter *const regrade_adapters[];

/* NULL with `unknown_board` when no adapter knows what path is. */
const struct regrade_adapter *regrade_adapter_for(const char *path, kgrade_error *err);

/* NULL with `unknown_adapter`. */
const struct regrade_adapter *regrade_adapter_named(const char *name, kgrade_error *err);

#endif
