/*
 * A plain folder of candidates for tasks of ours.
 *
 *     FOLDER/alice.cu             a candidate by alice
 *     FOLDER/bob/add.cu, tile.h   one of several files, by bob
 *     FOLDER/TASK/...             the same for the task of that name
 *     FOLDER/board.json, .csv     what the board said, optional
 *
 * The task is that of --task, or the name of the folder.  board.json: {"title", "clock", "rule", "entries": [{"file",
 * "author", "value", "unit", "lower_is_better", "rank", "passed", "cases"}]}; board.csv: a header with "file" and any of "author", "rank",
 * "passed", and one of "score" (higher is better), "speedup", "time_s", "time_ms", "time_us", "time_ns".
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "adapters.h"
#include "candidate.h"
#include "figures.h"
#include "files.h"

/* Names in a folder that are nothing that is read. */
struct unread {
    size_t n;
    char first[QUOTE_MAX_BYTES + 1];
};

/* One folder of candidates. */
struct place {
    const char *path;   /* of the folder */
    const char *prefix; /* of the ids in it: "" or "TASK/" */
    const char *task;   /* NULL: as --task says */
    const char *board;
    const char *rule; /* of the board, where the source has several; NULL: the source's */
    const struct regrade_sink *sink;
    json_t *figures; /* by file */
    struct unread unread;
};

static bool recognise(const char *path)
{
    return regrade_is_folder(path);
}

/* --- What is not read --------------------------------------------------------------------------- */

static int leave(struct unread *unread, const char *name, kgrade_error *err)
{
    if (unread->n++)
        return 0;
    cleanup_free char *label = regrade_label(name);
    if (!label)
        return fail(err, "out_of_memory", NULL, "There is no memory for a name.");
    snprintf(unread->first, sizeof unread->first, "%s", quote(label).text);
    return 0;
}

static int note_unread(const struct unread *unread, const char *where, const char *what_is_read,
                       const struct regrade_sink *sink, kgrade_error *err)
{
    char text[512];
    if (!unread->n)
        return 0;
    snprintf(text, sizeof text, "%s: %zu not read, such as %s. %s", quote(where).text, unread->n,
             unread->first, what_is_read);
    return sink->note(sink->data, text, err);
}

/* --- Candidates --------------------------------------------------------------------------------- */

static int take(const struct place *place, const char *name, const char *language,
                const struct bytes *source, const char *files, const kgrade_error *skip,
                kgrade_error *err)
{
    cleanup_free char *id = NULL, *label = regrade_label(name);
    if (!label || asprintf(&id, "%s%s", place->prefix, label) < 0) {
        id = NULL; /* which is undefined now */
        return fail(err, "out_of_memory", NULL, "There is no memory for an entry.");
    }
    const char *dot = language ? strrchr(label, '.') : NULL;
    cleanup_free char *author = strndup(label, dot ? (size_t)(dot - label) : strlen(label));
    struct regrade_entry entry = {
        .id = id,
        .board = place->board,
        .problem = place->task ? place->task : place->board,
        .author = author,
        .files = files ? files : label,
        .language = language,
        .task = place->task,
        .source = (const char *)source->data,
        .source_size = source->size,
        .skip_code = skip ? skip->code : NULL,
        .skip_message = skip ? skip->message : NULL,
    };
    figures_take(json_object_get(place->figures, label), &entry);
    if (!entry.original.rule)
        entry.original.rule = place->rule;
    int rc = place->sink->take(place->sink->data, &entry, err);
    json_object_del(place->figures, label);
    return rc;
}

static int take_file(struct place *place, const char *name, kgrade_error *err)
{
    cleanup_free char *path = regrade_path(place->path, name);
    cleanup_bytes struct bytes source = {0};
    const char *language = regrade_language_of(name);
    kgrade_error why;
    bool figures = !strcmp(name, "board.json") || !strcmp(name, "board.csv");
    if (!language || !regrade_is_file(path))
        return figures ? 0 : leave(&place->unread, name, err);
    switch (candidate_file(path, &source, &why)) {
    case CANDIDATE_READ:
    case CANDIDATE_NONE:
        return take(place, name, language, &source, NULL, NULL, err);
    case CANDIDATE_BAD:
        return take(place, name, language, &source, NULL, &why, err);
    case CANDIDATE_FAILED:
        break;
    }
    return candidate_pass_on(&why, err);
}

/* Several files in a folder of their own. */
static int take_folder(struct place *place, const char *name, kgrade_error *err)
{
    cleanup_free char *path = regrade_path(place->path, name), *files = NULL;
    cleanup_bytes struct bytes source = {0};
    const char *language = NULL;
    kgrade_error why = {.code = "out_of_memory"};
    switch (path ? candidate_folder(path, &source, &language, &files, &why) : CANDIDATE_FAILED) {
    case CANDIDATE_READ:
        return take(place, name, language, &source, files, NULL, err);
    case CANDIDATE_BAD:
        return take(place, name, language, &source, files, &why, err);
    case CANDIDATE_NONE:
        return leave(&place->unread, name, err);
    case CANDIDATE_FAILED:
        break;
    }
    return candidate_pass_on(&why, err);
}

/* Those that only the board knows. */
static int take_rest(const struct place *place, kgrade_error *err)
{
    const char *file;
    json_t *figure;
    void *next;
    json_object_foreach_safe(place->figures, next, file, figure)
    {
        cleanup_free char *name = strdup(file);
        if (!name ||
            take(place, name, regrade_language_of(name), &(struct bytes){0}, NULL, NULL, err))
            return -1;
    }
    return 0;
}

static int take_all(struct place *place, kgrade_error *err)
{
    cleanup_names struct regrade_names names = {0};
    if (regrade_names_read(place->path, &names, err))
        return -1;
    for (size_t i = 0; i < names.n; i++) {
        cleanup_free char *path = regrade_path(place->path, names.list[i]);
        int rc = regrade_is_folder(path) ? take_folder(place, names.list[i], err)
                                         : take_file(place, names.list[i], err);
        if (rc)
            return -1;
    }
    if (note_unread(&place->unread, place->board,
                    "A candidate is a file that ends in .cu, .c, .hip or .py, or a folder with "
                    "such files; symbolic links are not followed.",
                    place->sink, err))
        return -1;
    return take_rest(place, err);
}

/* How one of several boards of a source took times. */
static int note_clock(const struct regrade_source *board, const struct regrade_sink *sink,
                      kgrade_error *err)
{
    char text[512];
    if (!board->clock)
        return 0;
    snprintf(text, sizeof text, "%s was timed by: %.380s", quote(board->title).text, board->clock);
    return sink->note(sink->data, text, err);
}

/* A folder of candidates for one task. */
static int read_place(const char *path, const char *task, const char *prefix,
                      const struct regrade_sink *sink, bool begins, kgrade_error *err)
{
    cleanup_free char *name = regrade_last_part(path);
    cleanup_free char *label = name ? regrade_label(name) : NULL;
    cleanup_figures struct figures figures = {0};
    if (!label)
        return fail(err, "out_of_memory", NULL, "There is no memory for a board.");
    if (figures_read(path, &figures, err))
        return -1;
    const json_t *head = figures.head;
    const char *title = json_string_value(json_object_get(head, "title"));
    struct regrade_source source = {
        .title = title ? title : label,
        .rule = json_string_value(json_object_get(head, "rule")),
        .rule_parameters = json_object_get(head, "rule_parameters"),
        .clock = json_string_value(json_object_get(head, "clock")),
    };
    if (!source.rule)
        source.rule = "score";
    if ((begins && sink->begin(sink->data, &source, err)) ||
        (!begins && note_clock(&source, sink, err)) ||
        figures_note(&figures, source.title, sink, err))
        return -1;
    struct place place = {.path = path,
                          .prefix = prefix,
                          .task = task,
                          .board = source.title,
                          .rule = begins ? NULL : json_string_value(json_object_get(head, "rule")),
                          .sink = sink,
                          .figures = figures.by_file};
    return take_all(&place, err);
}

/* Folders that are named like tasks, each a board of its own. */
static int read_tasks(const char *path, const struct regrade_names *names,
                      const struct regrade_wishes *wishes, const struct regrade_sink *sink,
                      kgrade_error *err)
{
    cleanup_free char *name = regrade_last_part(path);
    cleanup_free char *label = name ? regrade_label(name) : NULL;
    struct unread unread = {0};
    if (!label ||
        sink->begin(sink->data, &(struct regrade_source){.title = label, .rule = "score"}, err))
        return -1;
    for (size_t i = 0; i < names->n; i++) {
        cleanup_free char *inner = regrade_path(path, names->list[i]),
                          *prefix = regrade_path(names->list[i], "");
        if (!inner || !prefix)
            return fail(err, "out_of_memory", NULL, "There is no memory for a board.");
        bool task = regrade_find_task(wishes, names->list[i]) && regrade_is_folder(inner);
        if (task ? read_place(inner, names->list[i], prefix, sink, false, err)
                 : leave(&unread, names->list[i], err))
            return -1;
    }
    return note_unread(&unread, label, "Read are the folders that are named like a task.", sink,
                       err);
}

static int read_folder(const char *path, const struct regrade_wishes *wishes,
                       const struct regrade_sink *sink, kgrade_error *err)
{
    cleanup_names struct regrade_names names = {0};
    cleanup_free char *name = regrade_last_part(path);
    bool tasks = false;
    if (!name)
        return fail(err, "out_of_memory", NULL, "There is no memory for a board.");
    if (regrade_names_read(path, &names, err))
        return -1;
    for (size_t i = 0; i < names.n && !wishes->task; i++) {
        cleanup_free char *inner = regrade_path(path, names.list[i]);
        tasks = tasks || (regrade_find_task(wishes, names.list[i]) && regrade_is_folder(inner));
    }
    if (tasks)
        return read_tasks(path, &names, wishes, sink, err);
    const char *task = !wishes->task && regrade_find_task(wishes, name) ? name : wishes->task;
    return read_place(path, task, "", sink, true, err);
}

const struct regrade_adapter regrade_folder = {"folder", recognise, read_folder};
