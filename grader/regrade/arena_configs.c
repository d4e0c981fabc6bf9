/*
 * AgentKernelArena's tasks: the config.yaml files of a checkout, in either version of their schema.
 *
 * Each task is an entry, its initial candidate, so that a plan tells what there is and what it would take.  Those that can be carried
 * (arena_problem.c) are graded.
 */
#define _GNU_SOURCE
#include "arena_configs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "files.h"
#include "yaml.h"

#define MOST_LEVELS 8u

static const char config_name[] = "config.yaml";

static const char *const version_1[] = {"source_file_path", "target_kernel_functions",
                                        "compile_command",  "correctness_command",
                                        "task_type",        NULL};
static const char *const version_2[] = {"kernel_identity", "candidate", "baseline", "evaluation",
                                        NULL};

/* Of the first version, too, for a task that is a repository elsewhere. */
static const char *const repository[] = {"repo_url", "compile_command", "correctness_command",
                                         "task_type", NULL};

/* The first key that a config lacks; NULL: it has all. */
static const char *missing_key(const json_t *config)
{
    const char *const *key = json_object_get(config, "schema_version") ? version_2
                             : json_object_get(config, "repo_url")     ? repository
                                                                       : version_1;
    for (; *key; key++)
        if (!json_object_get(config, *key))
            return *key;
    return NULL;
}

/* What the answer is to be written in: "triton2flydsl" says flydsl, the second version says it itself. */
static const char *language_of(const json_t *config)
{
    const char *type = json_string_value(json_object_get(config, "task_type")),
               *said = json_string_value(
                   json_object_get(json_object_get(config, "candidate"), "language"));
    const char *elsewhere = json_string_value(json_object_get(config, "repository_language"));
    const char *to = type ? strstr(type, "2") : NULL;
    return said ? said : elsewhere ? elsewhere : to ? to + 1 : "python";
}

static int take_config(const char *root, const char *below, const char *board,
                       const struct regrade_sink *sink, kgrade_error *err)
{
    cleanup_free char *folder = regrade_path(root, below), *path = NULL,
                      *label = regrade_label(below);
    json_auto_t *config = NULL;
    kgrade_error why = {0};
    if (folder)
        path = regrade_path(folder, config_name);
    if (!path || !label)
        return fail(err, "out_of_memory", NULL, "There is no memory for an entry.");
    const char *missing = NULL;
    if (!regrade_read_yaml(path, &config, &why) && (missing = missing_key(config)))
        fail_set(&why, "bad_config", NULL, "Its config.yaml has no %s.", missing);
    const char *language = config ? language_of(config) : "python";
    bool amd = arena_is_for_amd(language) || arena_is_for_amd(below);
    struct regrade_carried carried = {.skip_code = amd ? "needs_amd" : "needs_python",
                                      .skip_message = amd ? arena_needs_amd : arena_needs_python};
    if (!why.code[0] && !amd && !strcmp(language, "triton") &&
        arena_carry(folder, config, sink, &carried, err))
        return -1;
    const char *candidate = carried.task ? arena_first_candidate() : NULL;
    const struct regrade_entry entry = {
        .id = label,
        .board = board,
        .problem = label,
        .files = config_name,
        .language = candidate ? "python" : language,
        .task = carried.task,
        .device = carried.device,
        .source = candidate,
        .source_size = candidate ? strlen(candidate) : 0,
        .note = candidate ? "The problem's own reference is the candidate." : NULL,
        .skip_code = why.code[0] ? "bad_config" : carried.skip_code,
        .skip_message = why.code[0] ? why.message : carried.skip_message,
        .original = {.value = NAN, .unit = "points", .row = config},
    };
    return sink->take(sink->data, &entry, err);
}

/* A folder with a config is a task; what is below it belongs to it. */
static int walk(const char *root, const char *below, unsigned level, const char *board,
                const struct regrade_sink *sink, kgrade_error *err)
{
    cleanup_free char *folder = regrade_path(root, below);
    cleanup_names struct regrade_names list = {0};
    if (!folder || level > MOST_LEVELS || !regrade_is_folder(folder))
        return 0;
    if (regrade_has_file(folder, config_name))
        return sink ? take_config(root, below, board, sink, err) : 1;
    if (regrade_names_read(folder, &list, err))
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        cleanup_free char *inner = regrade_path(below, list.list[i]);
        int rc = inner ? walk(root, inner, level + 1, board, sink, err) : 0;
        if (rc)
            return rc;
    }
    return 0;
}

bool arena_has_configs(const char *folder)
{
    return walk(folder, "tasks", 1, NULL, NULL, NULL) == 1;
}

int arena_take_configs(const char *folder, const char *board, const struct regrade_sink *sink,
                       kgrade_error *err)
{
    return walk(folder, "tasks", 1, board, sink, err);
}
