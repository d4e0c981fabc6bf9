/*
 * What the page about a regrade is made of: the store, read once, and the sections that write it.
 *
 * Entries stand in tables.  A table is what is ranked together: the graded entries of one problem of one board, on one
 * device.  Everything here belongs to the page, and lives until board_free().
 */
#ifndef KGRADE_REGRADE_REPORT_PAGE_H
#define KGRADE_REGRADE_REPORT_PAGE_H

#include <stdint.h>
#include <stdio.h>

#include "../../cli/text.h"
#include "../ranking.h"
#include "../rules.h"
#include "../store.h"

/* Limits on what is written, so that the page of any board stays one that a telephone can show.  What is left out is
 * counted on the page, and is in results.csv and results.jsonl. */
#define BOARD_MAX_SLOPES 12u  /* tables whose places are drawn */
#define BOARD_MAX_SLOPE 25u   /* old ranks of such a table */
#define BOARD_MAX_TABLES 250u /* tables that are listed and told in detail */
#define BOARD_MAX_RANKED 50u  /* entries of a table that are told in detail */
#define BOARD_MAX_ROWS 1500u  /* of all tables */
#define BOARD_MAX_SAMPLED 12u /* entries of a table whose samples are drawn */
#define BOARD_MAX_DRAWN 400u  /* distributions of all tables */
#define BOARD_MAX_POINTS 4000u
#define BOARD_MAX_LISTED 60u /* in any other list */
#define BOARD_MAX_CODES 40u  /* reason codes, and codes of what is skipped */
#define BOARD_MAX_NAME 80u   /* characters of foreign words in a line */
#define BOARD_MAX_TEXT 600u  /* characters of foreign sentences */
#define BOARD_MAX_OPEN 8u    /* tables that are listed without a click */
#define BOARD_MAX_GAINS 5u   /* leads that are told at once; the others are folded away */
#define BOARD_WINNERS 5u     /* the first of each table, of whom the headline speaks */
#define BOARD_MIN_DRIFT 5u   /* entries from which the drift between grades is taken */

struct board_case {
    const char *name; /* "n=1024" */
    struct rule_case figures;
    double device_ns, baseline_ns, host_ns; /* medians, and the warm launch path; NaN: none */
};

struct board_entry {
    size_t table;
    int64_t number; /* in the store */
    int64_t candidate;
    const char *author, *files, *id, *problem; /* author and files may be NULL */
    const char *label;            /* the shortest of them that is its own in the table */
    const char *verdict, *reason; /* NULL: none */
    const char *note;             /* NULL: none */
    enum regrade_state state;
    bool accepted;
    bool passed;                     /* the old board said that it is right */
    bool counted;                    /* the old board ranked it, or gave it a figure */
    unsigned rank;                   /* that the old board told; 0: none */
    double value;                    /* the old figure as it stood there; NaN: none */
    const char *unit;                /* of it; NULL: not said */
    double old_seconds, now_seconds; /* comparable times, NaN: there are none */
    double old_speedup, now_speedup;
    bool has_baseline; /* the old board told a time of the baseline */
    /* What stood on the board, where it is AgentKernelArena: speedup and score by the rule of its main branch, and by that of
     * pull request 77, made of the times of single cases; NaN without such. */
    double arena_speedup[2], arena_score[2];
    double device_ns, host_ns; /* geometric means over the benchmark cases */
    struct board_case *cases;
    size_t n_cases;
    struct ranking_entry ranked;
};

struct board_table {
    size_t source; /* index */
    const char *board, *problem, *device;
    const struct rule *rule; /* by which the new figures are made */
    /* By an entry with an old figure: the rule, and the unit and the order of the old figures. */
    bool settled;
    const char *old_unit;    /* "": not said */
    bool old_lower, by_rank; /* by_rank: the old board told ranks only */
    size_t first, n;         /* of the page's entries */
    size_t accepted;
    double drift; /* relative, that was added to the intervals of times; 0: none */
    struct ranking ranking;
};

struct board_source {
    int64_t number;
    const char *adapter, *path, *title, *clock;
    const char *rule_name;   /* as the source has it; NULL */
    const struct rule *rule; /* NULL: not known to us */
    double p;                /* of fast_p; NaN: not said */
    json_t *notes, *tallies; /* owned; NULL */
};

/* Entries that were not graded, by the code of the reason. */
struct board_skip {
    const char *code, *message; /* of the first one */
    const char *example;        /* its name */
    size_t n;
    bool other_messages;
};

struct board_pool; /* where the strings are */

struct board {
    const struct regrade_store *store;
    struct board_source *sources;
    struct board_table *tables;
    /* By table; behind them those that are not graded, which only boards over problems need. */
    struct board_entry *entries;
    struct board_skip *skips;
    size_t n_sources, n_tables, n_entries, n_tabled, n_skips;
    size_t all, graded, accepted, skipped, left_out, planned; /* entries */
    size_t rows_left, drawn_left; /* of BOARD_MAX_ROWS, BOARD_MAX_DRAWN */
    struct board_pool *pool;
};

/* gather.c: reads the store and ranks.  board_free also after an error. */
int board_gather(const struct regrade_store *store, struct board *ret, kgrade_error *err);
void board_free(struct board *board);

/* The sections, from top to bottom; one that has nothing to say is not written.  Those that read the store may fail. */
void board_headline(FILE *out, const struct board *board); /* headline.c */
int board_runs(FILE *out, const struct board *board);      /* runs.c; -1: no memory */
int board_recorded(FILE *out, const struct board *board);  /* recorded.c; -1: no memory */
void board_list(FILE *out, const struct board *board);     /* headline.c */
void board_places(FILE *out, const struct board *board);   /* slope.c */
void board_gains(FILE *out, const struct board *board);    /* findings.c */
void board_rejected(FILE *out, const struct board *board); /* findings.c */
int board_then_now(FILE *out, const struct board *board);  /* cloud.c; -1: no memory */
int board_host(FILE *out, const struct board *board);      /* cloud.c */
int board_details(FILE *out, struct board *board, kgrade_error *err); /* detail.c */
void board_skips(FILE *out, const struct board *board);               /* notes.c */
void board_method(FILE *out, const struct board *board);              /* notes.c */
extern const char board_style[];                                      /* style.c */

/* runs.c: the boards that rank who entered, by the first of their tables, which stands for the board; and their entries, by
 * author, problem and id.  ret has room for all entries of the page. */
bool board_stands_for_runs(const struct board *board, size_t table);
size_t board_collect(const struct board *board, const struct board_table *table,
                     const struct board_entry **ret);
/* Of the author's entries of one problem, from *at on, which is moved behind them: the one that the board counts.  KernelBench
 * counts the first sample, the others the best.  NULL: there is none. */
const struct board_entry *board_pick(const struct board_entry *const *entries, size_t n,
                                     const char *problem, const struct rule *rule, size_t *at);
/* "?" where nobody knows. */
const char *board_author(const struct board_entry *entry);

/* words.c: what several sections write. */
/* Text that others wrote, at most max characters of it. */
void board_write_name(FILE *out, const char *text);
/* The board and the problem, where that is not the same. */
void board_write_table_name(FILE *out, const struct board_table *table);
/* A figure in its unit: "3.012 µs", "1.25×", "260.0". */
struct text_short board_figure(enum rule_unit unit, double value);
struct text_short board_figure_range(enum rule_unit unit, double low, double high);
/* The old figure of an entry as the old board had it, with its unit. */
struct text_short board_old_figure(const struct board_entry *entry);
/* "wrong answer" */
struct text_short board_verdict(const char *verdict);
/* "1 entry", "2 entries" */
void board_write_count(FILE *out, size_t n, const char *one, const char *many);
/* "−0.14", two decimals. */
struct text_short board_signed(double value);
/* "0.62 (0.41 to 0.83)" */
struct text_short board_tau(const struct ranking_tau *tau);

#endif
