/*
 * GPU MODE: an export of submissions, or a checkout of problems with submissions in it.
 *
 *     export.jsonl, .csv          records of submissions (gpumode_export.c)
 *     export.parquet              the same, read by a Python that has pyarrow
 *     FOLDER/problems/SET.yaml    sets of problems; submissions lie beside each problem's task.yml
 *     FOLDER/task.yml             one problem
 *
 * Its problems are Python with Python references.  Those of a checkout are made tasks of (gpumode_problem.c), and the entries are graded for
 * these; an export's rows are graded where the task of their problem is there, because a checkout was read before.
 */
#define _GNU_SOURCE
#include "gpumode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "adapters.h"
#include "candidate.h"
#include "files.h"
#include "yaml.h"

bool gpumode_ends_with(const char *path, const char *end)
{
    size_t a = strlen(path), b = strlen(end);
    return a >= b && !strcmp(path + a - b, end);
}

static const char needs_amd[] = "It is for AMD's cards.";

/* Where the submissions of one problem lie. */
struct problem {
    const char *folder; /* of its task.yml */
    const char *prefix; /* of the ids */
    const char *board, *rule, *hardware;
    struct regrade_carried carried;
    const struct regrade_sink *sink;
};

bool gpumode_is_amd(const char *hardware)
{
    if (!hardware || !*hardware)
        return false;
    for (const char *name = hardware; name; name = strstr(name, ", ")) {
        name += name == hardware ? 0 : 2;
        if (strncmp(name, "MI", 2) != 0)
            return false;
    }
    return true;
}

static int take_submission(const struct problem *p, const char *below, const char *name,
                           enum regrade_passed passed, kgrade_error *err)
{
    cleanup_free char *inner = *below ? regrade_path(below, name) : strdup(name), *path = NULL,
                      *id = NULL, *label = NULL;
    cleanup_bytes struct bytes source = {0};
    kgrade_error why = {0};
    if (inner)
        path = regrade_path(p->folder, inner);
    if (!path || asprintf(&id, "%s/%s", p->prefix, inner) < 0) {
        id = NULL; /* which is undefined now */
        return fail(err, "out_of_memory", NULL, "There is no memory for an entry.");
    }
    label = regrade_label(id);
    enum candidate_read rc = candidate_file(path, &source, &why);
    if (rc == CANDIDATE_FAILED || !label)
        return candidate_pass_on(&why, err);
    const struct regrade_entry entry = {
        .id = label,
        .board = p->board,
        .problem = p->board,
        .files = label,
        .language = "python",
        .task = p->carried.task,
        .device = p->carried.device,
        .hardware = p->hardware,
        .source = (const char *)source.data,
        .source_size = source.size,
        .skip_code = rc == CANDIDATE_BAD ? why.code : p->carried.skip_code,
        .skip_message = rc == CANDIDATE_BAD ? why.message : p->carried.skip_message,
        .original =
            {.value = NAN, .unit = "s", .rule = p->rule, .lower_is_better = true, .passed = passed},
    };
    return p->sink->take(p->sink->data, &entry, err);
}

static bool is_submission(const char *name)
{
    return gpumode_ends_with(name, ".py") && !strncmp(name, "submission", strlen("submission"));
}

/* Every Python file of a folder, or its submissions only. */
static int take_folder(const struct problem *p, const char *below, bool all,
                       enum regrade_passed passed, kgrade_error *err)
{
    cleanup_names struct regrade_names list = {0};
    cleanup_free char *folder = *below ? regrade_path(p->folder, below) : strdup(p->folder);
    if (!regrade_is_folder(folder))
        return 0;
    if (regrade_names_read(folder, &list, err))
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        const char *name = list.list[i];
        if ((all ? gpumode_ends_with(name, ".py") : is_submission(name)) &&
            regrade_has_file(folder, name) && take_submission(p, below, name, passed, err))
            return -1;
    }
    return 0;
}

/* The problem in ROOT/DIRECTORY; prefix and title NULL: as its folder is called. */
static int take_problem(const char *root, const char *directory, const char *prefix,
                        const char *title, const char *hardware, const struct regrade_sink *sink,
                        kgrade_error *err)
{
    cleanup_free char *folder = regrade_path(root, directory);
    cleanup_free char *task = folder ? regrade_path(folder, "task.yml") : NULL;
    cleanup_free char *name = regrade_last_part(directory);
    cleanup_free char *label = name ? regrade_label(name) : NULL;
    json_auto_t *description = NULL;
    if (!task || !label)
        return fail(err, "out_of_memory", NULL, "There is no memory for a board.");
    if (regrade_read_yaml(task, &description, err))
        return -1;
    const char *rule = json_string_value(json_object_get(description, "ranking_by"));
    struct problem p = {.folder = folder,
                        .prefix = prefix ? prefix : label,
                        .board = title ? title : label,
                        .rule = rule ? rule : "last",
                        .hardware = hardware,
                        .carried = {.skip_code = "needs_amd", .skip_message = needs_amd},
                        .sink = sink};
    if (!gpumode_is_amd(hardware) &&
        gpumode_carry(root, directory, p.board, description, sink, &p.carried, err))
        return -1;
    return take_folder(&p, "", false, REGRADE_PASS_UNSAID, err) ||
                   take_folder(&p, "submissions", true, REGRADE_PASS_UNSAID, err) ||
                   take_folder(&p, "solutions/correct", true, REGRADE_PASSED, err) ||
                   take_folder(&p, "solutions/wrong", true, REGRADE_FAILED, err)
               ? -1
               : 0;
}

/* "B200, H100"; the caller frees. */
static char *join(const json_t *list)
{
    char *text = NULL;
    for (size_t i = 0; i < json_array_size(list); i++) {
        char *longer = NULL;
        const char *item = json_string_value(json_array_get(list, i));
        if (!item || asprintf(&longer, "%s%s%s", text ? text : "", text ? ", " : "", item) < 0)
            continue;
        free(text);
        text = longer;
    }
    return text;
}

/* The problems of one set; its directories are named relative to the folder of the sets. */
static int take_set(const char *folder, const char *file, const struct regrade_sink *sink,
                    kgrade_error *err)
{
    cleanup_free char *path = regrade_path(folder, file);
    json_auto_t *set = NULL;
    size_t i;
    json_t *problem;
    if (regrade_read_yaml(path, &set, err))
        return -1;
    json_array_foreach(json_object_get(set, "problems"), i, problem)
    {
        const char *directory = json_string_value(json_object_get(problem, "directory"));
        if (!directory || *directory == '/' || strstr(directory, ".."))
            return fail(err, "bad_board", "Each has a \"directory\" below the folder of the sets.",
                        "A problem of %s names no directory.", path);
        cleanup_free char *inner = regrade_path(folder, directory), *note = NULL;
        cleanup_free char *hardware = join(json_object_get(problem, "gpus"));
        if (inner && !regrade_has_file(inner, "task.yml")) {
            if (asprintf(&note, "%s is missing, which %s names.", directory, file) < 0)
                note = NULL; /* which is undefined now */
            if (note && sink->note(sink->data, note, err))
                return -1;
            continue;
        }
        /* Two sets may name one directory. */
        cleanup_free char *prefix = NULL;
        if (asprintf(&prefix, "%.*s/%s", (int)strcspn(file, "."), file, directory) < 0)
            prefix = NULL; /* which is undefined now */
        if (!inner || !prefix ||
            take_problem(folder, directory, prefix,
                         json_string_value(json_object_get(problem, "name")), hardware, sink, err))
            return -1;
    }
    return 0;
}

static bool is_set(const char *name)
{
    return gpumode_ends_with(name, ".yaml");
}

static int take_sets(const char *folder, const struct regrade_sink *sink, kgrade_error *err)
{
    cleanup_names struct regrade_names list = {0};
    if (regrade_names_read(folder, &list, err))
        return -1;
    for (size_t i = 0; i < list.n; i++)
        if (is_set(list.list[i]) && regrade_has_file(folder, list.list[i]) &&
            take_set(folder, list.list[i], sink, err))
            return -1;
    return 0;
}

static bool has_sets(const char *folder)
{
    cleanup_names struct regrade_names list = {0};
    if (!regrade_is_folder(folder) || regrade_names_read(folder, &list, NULL))
        return false;
    for (size_t i = 0; i < list.n; i++)
        if (is_set(list.list[i]) && regrade_has_file(folder, list.list[i]))
            return true;
    return false;
}

static int read_gpumode(const char *path, const struct regrade_wishes *wishes,
                        const struct regrade_sink *sink, kgrade_error *err)
{
    if (regrade_is_file(path))
        return gpumode_read_export(path, wishes, sink, err);
    cleanup_free char *name = regrade_last_part(path), *problems = regrade_path(path, "problems");
    cleanup_free char *title = name ? regrade_label(name) : NULL;
    const struct regrade_source source = {.title = title ? title : "GPU MODE", .rule = "last"};
    if (sink->begin(sink->data, &source, err))
        return -1;
    if (!regrade_has_file(path, "task.yml"))
        return take_sets(problems, sink, err);
    /* Its files may lie beside it: the root is the folder above. */
    cleanup_free char *root = strndup(path, strlen(path) - (name ? strlen(name) : 0));
    if (!root || !name)
        return fail(err, "out_of_memory", NULL, "There is no memory for a board.");
    return take_problem(root, name, NULL, NULL, NULL, sink, err);
}

/* --- Recognising -------------------------------------------------------------------------------- */

static bool recognise(const char *path)
{
    cleanup_free char *problems = regrade_path(path, "problems");
    return gpumode_is_export(path) ||
           (regrade_is_folder(path) && (regrade_has_file(path, "task.yml") || has_sets(problems)));
}

const struct regrade_adapter regrade_gpumode = {"gpumode", recognise, read_gpumode};
