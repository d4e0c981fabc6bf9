/*
 * The ranking of a task on a device.
 *
 * All grades that are done are read, ordered by owner and source; each run of equal ones becomes an
 * entry.  The score of an entry is that of one grade, the median of its accepted ones (of an even
 * number the lower of the two in the middle), so that score and interval belong together, and grading
 * often is no way up.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../value.h"
#include "internal.h"

enum {
    BOARD_OWNER,
    BOARD_SOURCE_HASH,
    BOARD_SEQ,
    BOARD_ID,
    BOARD_VERDICT,
    BOARD_SCORE,
    BOARD_LOW,
    BOARD_HIGH,
    BOARD_TASK_HASH,
    BOARD_ENDED
};

/* An accepted grade. */
struct sample {
    double score, low, high;
    int64_t seq;
    unsigned content; /* index of the task's hash */
    char id[STORE_ID_SIZE];
};

struct entry {
    char owner[STORE_NAME_SIZE], source_hash[STORE_HASH_SIZE];
    unsigned grades;
    json_t *verdicts;
    int64_t latest_seq, latest_ms;
    char latest_id[STORE_ID_SIZE];
    size_t first_sample, n_samples;
    bool ranked;
    struct sample median, best;
    unsigned tie;         /* the rank of the first of those it cannot be told from */
    unsigned same_source; /* a group of entries of several owners; 0: none */
};

struct board {
    struct entry *entries;
    size_t n_entries;
    struct sample *samples;
    size_t n_samples;
    char (*contents)[STORE_HASH_SIZE]; /* hashes of the task that grades were made with */
    size_t n_contents;
    int64_t newest_seq; /* of the grades that say what they were made with */
    unsigned current;   /* the content of that one */
    bool has_current;
};

static void board_free(struct board *board)
{
    for (size_t i = 0; i < board->n_entries; i++)
        json_decref(board->entries[i].verdicts);
    free(board->entries);
    free(board->samples);
    free(board->contents);
}
#define cleanup_board __attribute__((cleanup(board_free)))

/* --- Reading ------------------------------------------------------------------------------------ */

/* Room for one more, zeroed, in an array that grows by doubling; array is the address of a pointer.
 * NULL without memory. */
static void *next_in(void *array, size_t *n, size_t size)
{
    char *items;
    memcpy(&items, array, sizeof items);
    if ((*n & (*n - 1)) == 0) {
        char *larger = realloc(items, (*n ? 2 * *n : 1) * size);
        if (!larger)
            return NULL;
        items = larger;
        memcpy(array, &items, sizeof items);
    }
    return memset(items + (*n)++ * size, 0, size);
}

static void set_text(char *ret, size_t size, const char *text)
{
    size_t length = strnlen(text, size - 1);
    memcpy(ret, text, length);
    ret[length] = 0;
}

static int find_content(struct board *board, const char *hash, unsigned *ret)
{
    for (size_t i = board->n_contents; i-- > 0;)
        if (!strcmp(board->contents[i], hash)) {
            *ret = (unsigned)i;
            return 0;
        }
    char *content = next_in(&board->contents, &board->n_contents, STORE_HASH_SIZE);
    if (!content)
        return -1;
    set_text(content, STORE_HASH_SIZE, hash);
    *ret = (unsigned)board->n_contents - 1;
    return 0;
}

static struct entry *find_entry(struct board *board, sqlite3_stmt *s)
{
    const char *owner = column_text(s, BOARD_OWNER);
    const char *source_hash = column_text(s, BOARD_SOURCE_HASH);
    struct entry *last = board->n_entries ? &board->entries[board->n_entries - 1] : NULL;
    if (last && !strcmp(last->owner, owner) && !strcmp(last->source_hash, source_hash))
        return last;
    struct entry *entry = next_in(&board->entries, &board->n_entries, sizeof *entry);
    if (!entry)
        return NULL;
    set_text(entry->owner, sizeof entry->owner, owner);
    set_text(entry->source_hash, sizeof entry->source_hash, source_hash);
    entry->verdicts = json_object();
    entry->first_sample = board->n_samples;
    return entry;
}

static double column_number(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN : sqlite3_column_double(s, column);
}

static int add_sample(struct board *board, struct entry *entry, unsigned content, sqlite3_stmt *s)
{
    struct sample *sample = next_in(&board->samples, &board->n_samples, sizeof *sample);
    if (!sample)
        return -1;
    *sample = (struct sample){
        .score = sqlite3_column_double(s, BOARD_SCORE),
        .low = column_number(s, BOARD_LOW),
        .high = column_number(s, BOARD_HIGH),
        .seq = sqlite3_column_int64(s, BOARD_SEQ),
        .content = content,
    };
    set_text(sample->id, sizeof sample->id, column_text(s, BOARD_ID));
    entry->n_samples++;
    return 0;
}

static int add_grade(struct board *board, sqlite3_stmt *s)
{
    struct entry *entry = find_entry(board, s);
    unsigned content;
    if (!entry || find_content(board, column_text(s, BOARD_TASK_HASH), &content))
        return -1;
    const char *verdict = column_text(s, BOARD_VERDICT);
    json_int_t count = json_integer_value(json_object_get(entry->verdicts, verdict));
    if (json_object_set_new(entry->verdicts, verdict, json_integer(count + 1)))
        return -1;
    entry->grades++;
    entry->latest_seq = sqlite3_column_int64(s, BOARD_SEQ);
    entry->latest_ms = sqlite3_column_int64(s, BOARD_ENDED);
    set_text(entry->latest_id, sizeof entry->latest_id, column_text(s, BOARD_ID));
    if (board->contents[content][0] && entry->latest_seq > board->newest_seq) {
        board->newest_seq = entry->latest_seq;
        board->current = content;
        board->has_current = true;
    }
    return strcmp(verdict, "accepted") ? 0 : add_sample(board, entry, content, s);
}

static int read_board(struct store *store, const char *task, const char *device,
                      struct board *board, kgrade_error *err)
{
    sqlite3_stmt *statement;
    struct reader *reader = reader_take(store, READ_BOARD, &statement, err);
    if (!reader)
        return -1;
    bind_text(statement, 1, task);
    bind_text(statement, 2, device);
    int rc, status = 0;
    while (status == 0 && (rc = sqlite3_step(statement)) != SQLITE_DONE) {
        if (rc != SQLITE_ROW)
            return reader_fail(store, reader, err);
        status = add_grade(board, statement);
    }
    reader_give(store, reader);
    if (status)
        return fail(err, "store_unavailable", NULL, "There is no memory for the leaderboard.");
    return 0;
}

/* --- Ranking ------------------------------------------------------------------------------------ */

static int by_score(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Only grades of the task as it is now can be compared. */
static void judge_entry(const struct board *board, struct entry *entry)
{
    struct sample *samples = board->samples + entry->first_sample;
    size_t n = 0;
    for (size_t i = 0; i < entry->n_samples; i++)
        if (!board->has_current || samples[i].content == board->current)
            samples[n++] = samples[i];
    if (!n)
        return;
    qsort(samples, n, sizeof *samples, by_score);
    entry->ranked = true;
    entry->median = samples[(n - 1) / 2];
    entry->best = samples[n - 1];
}

/* Ranked ones first, by score, among equal ones the one that was there first; then the others, those
 * that were graded last first. */
static int by_rank(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->ranked != y->ranked)
        return x->ranked ? -1 : 1;
    if (x->ranked && x->median.score != y->median.score)
        return x->median.score > y->median.score ? -1 : 1;
    if (x->ranked)
        return (x->median.seq > y->median.seq) - (x->median.seq < y->median.seq);
    return (x->latest_seq < y->latest_seq) - (x->latest_seq > y->latest_seq);
}

/* An interval that is not known is the score alone. */
static bool overlaps(const struct sample *upper, const struct sample *lower)
{
    double low = isfinite(upper->low) ? upper->low : upper->score;
    double high = isfinite(lower->high) ? lower->high : lower->score;
    return low <= high;
}

static void find_ties(struct board *board)
{
    for (size_t i = 0; i < board->n_entries && board->entries[i].ranked; i++) {
        struct entry *entry = &board->entries[i];
        bool tied = i > 0 && overlaps(&entry[-1].median, &entry->median);
        entry->tie = tied ? entry[-1].tie : (unsigned)i + 1;
    }
}

/* By source, then by rank: entries do not move in memory while they are sorted by address. */
static int by_source(const void *a, const void *b)
{
    const struct entry *x = *(const struct entry *const *)a, *y = *(const struct entry *const *)b;
    int order = strcmp(x->source_hash, y->source_hash);
    return order ? order : (x > y) - (x < y);
}

/* Entries of one source are of different owners.  Groups are numbered by their best entry. */
static int find_same_sources(struct board *board)
{
    size_t n = board->n_entries;
    cleanup_free struct entry **sorted = calloc(n ? n : 1, sizeof *sorted);
    if (!sorted)
        return -1;
    for (size_t i = 0; i < n; i++)
        sorted[i] = &board->entries[i];
    qsort(sorted, n, sizeof(struct entry *), by_source);
    /* For now each group is known by the place of its best entry. */
    for (size_t i = 0, first = 0; i <= n; i++) {
        if (i < n && !strcmp(sorted[first]->source_hash, sorted[i]->source_hash))
            continue;
        for (size_t k = first; k < i && i - first > 1; k++)
            sorted[k]->same_source = (unsigned)(sorted[first] - board->entries) + 1;
        first = i;
    }
    unsigned groups = 0;
    for (size_t i = 0; i < n; i++) {
        struct entry *entry = &board->entries[i];
        if (!entry->same_source)
            continue;
        bool leads = entry->same_source == i + 1;
        entry->same_source = leads ? ++groups : board->entries[entry->same_source - 1].same_source;
    }
    return 0;
}

/* --- The answer --------------------------------------------------------------------------------- */

static json_t *entry_json(const struct entry *e, size_t place)
{
    json_t *json = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:o, s:i, s:O, s:o, s:o, s:s, s:o}", "rank",
        e->ranked ? json_integer((json_int_t)place + 1) : json_null(), "tie",
        e->ranked ? json_integer(e->tie) : json_null(), "score",
        e->ranked ? value_number(e->median.score) : json_null(), "score_low",
        e->ranked ? value_number(e->median.low) : json_null(), "score_high",
        e->ranked ? value_number(e->median.high) : json_null(), "owner", e->owner, "source_hash",
        e->source_hash, "same_source", e->same_source ? json_integer(e->same_source) : json_null(),
        "grades", (int)e->grades, "verdicts", e->verdicts, "score_id",
        e->ranked ? json_string(e->median.id) : json_null(), "best_id",
        e->ranked ? json_string(e->best.id) : json_null(), "latest_id", e->latest_id, "latest_at",
        value_time(e->latest_ms));
    return json;
}

json_t *store_leaderboard(struct store *store, const char *task, const char *device, unsigned limit,
                          kgrade_error *err)
{
    cleanup_board struct board board = {0};
    if (read_board(store, task, device, &board, err))
        return NULL;
    for (size_t i = 0; i < board.n_entries; i++)
        judge_entry(&board, &board.entries[i]);
    if (board.n_entries)
        qsort(board.entries, board.n_entries, sizeof *board.entries, by_rank);
    find_ties(&board);
    json_t *entries = json_array();
    bool failed = !entries || find_same_sources(&board);
    for (size_t i = 0; !failed && i < board.n_entries && i < limit; i++)
        failed = json_array_append_new(entries, entry_json(&board.entries[i], i));
    if (failed) {
        json_decref(entries);
        fail_set(err, "store_unavailable", NULL, "There is no memory for the leaderboard.");
        return NULL;
    }
    return json_pack("{s:s, s:s, s:o, s:I, s:o}", "task", task, "device", device, "task_hash",
                     board.has_current ? json_string(board.contents[board.current]) : json_null(),
                     "total", (json_int_t)board.n_entries, "entries", entries);
}
