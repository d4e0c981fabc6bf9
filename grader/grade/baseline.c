#define _GNU_SOURCE
#include "baseline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../build/build.h"
#include "../judge/judge.h"
#include "../record/record.h"
#include "pythons.h"
#include "spec.h"

struct baseline_source baseline_source(kgrade *engine, const struct device *device,
                                       const struct task *task)
{
    struct baseline_source ret = {.language = &device->languages[0]};
    const struct bytes *in_python = spec_python_baseline(device, task);
    ret.text = task_file(task, ret.language->baseline);
    for (const struct device_language *l = device->languages; in_python && l->name; l++)
        if (l->interpreted)
            ret = (struct baseline_source){in_python, l, python_find(&engine->pythons, l->name)};
    return ret;
}

/* Changes with everything that a baseline's recording depends on. */
static void make_key(kgrade *engine, const struct device *device, const struct task *task,
                     const json_t *info, char ret[HASH_HEX])
{
    cleanup_free char *hardware = json_dumps(info, JSON_SORT_KEYS | JSON_COMPACT);
    struct baseline_source source = baseline_source(engine, device, task);
    const json_t *python =
        source.python
            ? pythons_ask(engine, python_find(&engine->pythons, source.language->name), NULL)
            : NULL;
    cleanup_free char *frameworks = json_dumps(python, JSON_SORT_KEYS | JSON_COMPACT);
    const char *parts[] = {kgrade_version(), device->name, task->hash, hardware ? hardware : "",
                           frameworks ? frameworks : ""};
    struct hash_part hashed[sizeof parts / sizeof parts[0]];
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        hashed[i] = (struct hash_part){parts[i], strlen(parts[i])};
    hash_parts(hashed, sizeof parts / sizeof parts[0], ret);
}

static int wrap(const char *what, struct finding *f)
{
    if (f->verdict == KGRADE_INFRASTRUCTURE_ERROR)
        return -1;
    char message[sizeof f->reason.message];
    memcpy(message, f->reason.message, sizeof message);
    finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "baseline_failed",
                "Run `kgrade check-task` on the task.",
                "The task's baseline could not be %s: %.900s", what, message);
    f->retryable = false;
    return -1;
}

/* Every benchmark case of the baseline must be right before anything is compared with it. */
static int verify(struct judge_client *judge, const struct task *task,
                  const struct task_case *cases, size_t n_cases, struct replay *replay,
                  struct finding *f)
{
    for (size_t i = 0; i < n_cases; i++) {
        uint64_t seeds[2];
        struct replay_time time;
        struct judgement judgement = {0};
        json_int_t id;
        io_random(seeds, sizeof seeds);
        if (replay_load(replay, task, &cases[i], f) ||
            replay_prepare(replay, seeds[0], seeds[1], false, f) ||
            replay_run(replay, false, &time, f) ||
            judge_snapshot(judge, task, &cases[i], seeds[0], seeds[1], &id, f) ||
            judge_decide(judge, id, &judgement, f))
            return -1;
        json_decref(judgement.correctness);
        if (!judgement.pass)
            return finding_set(f, KGRADE_WRONG_ANSWER, judgement.code, NULL,
                               "its answer is wrong (%s).", judgement.code);
    }
    return 0;
}

int baseline_verify(kgrade *engine, const struct device *device, const struct task *task,
                    const struct task_case *cases, size_t n_cases, uint64_t judge_ns,
                    struct replay *replay, struct finding *f)
{
    cleanup_judge struct judge_client judge = JUDGE_NONE;
    judge.timeout_ns = judge_ns;
    int result =
        judge_open(engine, device, replay_target(replay), task, replay->arena_fd, &judge, f) ||
        judge_feed(&judge, task, cases, n_cases, replay, f) ||
        verify(&judge, task, cases, n_cases, replay, f);
    replay_starve(replay);
    return result ? -1 : 0;
}

int baseline_record(kgrade *engine, const struct device *device, const struct task *task,
                    const struct task_case *cases, size_t n_cases, struct replay *replay,
                    struct bytes *ret, struct finding *f)
{
    const struct baseline_source source = baseline_source(engine, device, task);
    kgrade_error err = {.code = ""};
    cleanup_bytes struct bytes library = {0};
    bool cached;
    if (!source.text) {
        finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "baseline_failed",
                    "Add the file to the task's folder.", "Task \"%s\" has no %s.", task->name,
                    source.language->baseline);
        f->retryable = false;
        return -1;
    }
    if (source.language->interpreted && !source.python) {
        finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "no_python", "Name an interpreter: --python.",
                    "The baseline of task \"%s\" is in Python, and no interpreter is named.",
                    task->name);
        f->retryable = false;
        return -1;
    }
    if (build_candidate(engine, device, source.language, replay_target(replay),
                        (const char *)source.text->data, source.text->size, &library, &cached, f))
        return wrap("built", f);
    cleanup_recording struct recording *recording = recording_new(device->name, task);
    cleanup_free struct host_overhead *overheads = calloc(n_cases + 1, sizeof *overheads);
    if (!recording || !overheads)
        return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "out_of_memory", NULL,
                           "No memory for a recording.");
    const struct record_request request = {.device = device,
                                           .task = task,
                                           .cases = cases,
                                           .n_cases = n_cases,
                                           .warm_calls = 1,
                                           .library = &library,
                                           .python = source.python};
    if (record_cases(engine, &request, recording, overheads, NULL, NULL, f))
        return wrap("recorded", f);
    return recording_write(recording, ret, &err) ? finding_infrastructure(f, &err) : 0;
}

/* Records it if *recording is empty; verifies it, and packs its code, in any case. */
static int make(kgrade *engine, const struct device *device, const struct task *task,
                const struct task_case *cases, size_t n_cases, struct bytes *recording,
                struct bytes *ret_code, struct finding *f)
{
    cleanup_replay struct replay replay = REPLAY_NONE;
    if (replay_open(engine, device, task, cases, n_cases, &replay, f) ||
        (!recording->size &&
         baseline_record(engine, device, task, cases, n_cases, &replay, recording, f)))
        return -1;
    if (replay_give(&replay, recording, f) ||
        baseline_verify(engine, device, task, cases, n_cases, 0, &replay, f) ||
        replay_pack(&replay, ret_code, f))
        return wrap("replayed", f);
    return 0;
}

static void cache_path(const kgrade *engine, const char *key, char ret[ENGINE_MAX_PATH])
{
    snprintf(ret, ENGINE_MAX_PATH, "%.3000s/baseline-%s.kgr", engine->cache_folder, key);
}

static const struct baseline *find(kgrade *engine, const char *key)
{
    const struct baseline *found = NULL;
    pthread_mutex_lock(&engine->cache_lock);
    for (size_t i = 0; i < engine->n_baselines && !found; i++)
        if (!strcmp(engine->baselines[i].key, key))
            found = &engine->baselines[i];
    pthread_mutex_unlock(&engine->cache_lock);
    return found;
}

static const struct baseline *keep(kgrade *engine, const char *key, struct bytes *recording,
                                   struct bytes *code)
{
    const struct baseline *kept = NULL;
    pthread_mutex_lock(&engine->cache_lock);
    if (engine->n_baselines < sizeof engine->baselines / sizeof engine->baselines[0]) {
        struct baseline *b = &engine->baselines[engine->n_baselines++];
        memcpy(b->key, key, HASH_HEX);
        b->recording = *recording;
        b->code = *code;
        *recording = *code = (struct bytes){0};
        kept = b;
    }
    pthread_mutex_unlock(&engine->cache_lock);
    return kept;
}

int baseline_get(kgrade *engine, const struct device *device, const struct task *task,
                 const struct task_case *cases, size_t n_cases, const json_t *info,
                 const struct baseline **ret, struct finding *f)
{
    char key[HASH_HEX], path[ENGINE_MAX_PATH];
    make_key(engine, device, task, info, key);
    *ret = find(engine, key);
    if (*ret)
        return 0;
    cleanup_bytes struct bytes recording = {0}, code = {0};
    cache_path(engine, key, path);
    bool known = !io_read_file(path, RECORDING_MAX_BYTES, &recording, NULL);
    /* Code is not kept in files: what a runtime takes for its own changes with its packages. */
    if ((!known || device->runs_in_replayer) &&
        make(engine, device, task, cases, n_cases, &recording, &code, f))
        return wrap("verified", f);
    if (!known)
        io_write_file(path, recording.data, recording.size,
                      NULL); /* a cache that cannot be written is only slow */
    *ret = keep(engine, key, &recording, &code);
    return *ret ? 0
                : finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "too_many_baselines", NULL,
                              "The engine holds too many baselines.");
}
