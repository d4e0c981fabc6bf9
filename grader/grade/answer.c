/* What a grade comes to, as JSON. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "advice.h"
#include "jails.h"
#include "pythons.h"
#include "state.h"

static const char *const step_names[STEP_TIMES] = {"build_ms", "record_ms", "baseline_ms",
                                                   "replay_ms", "judge_ms"};

/* Geometric mean of the speedups of all benchmark cases. */
static double score_of(const struct grade *g)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < g->n_public; i++)
        if (g->results[i].sampled) {
            sum += log(g->results[i].sampling.speedup);
            n++;
        }
    return n ? exp(sum / (double)n) : 0;
}

static json_t *steps_json(const struct grade *g)
{
    json_t *json = json_object();
    for (size_t i = 0; i < STEP_TIMES; i++)
        json_object_set_new(json, step_names[i],
                            json_real((double)g->step_ns[i] / (double)IO_NS_PER_MS));
    if (g->held_ns)
        json_object_set_new(json, "device_held_ms",
                            json_real((double)(io_now() - g->held_ns) / (double)IO_NS_PER_MS));
    json_object_set_new(json, "total_ms",
                        json_real((double)(io_now() - g->started_ns) / (double)IO_NS_PER_MS));
    return json;
}

static json_t *reason_json(const struct finding *f)
{
    return json_pack("{s:s, s:s, s:s, s:s?, s:b}", "code", f->reason.code, "message",
                     f->reason.message, "hint", f->reason.hint, "log", f->log, "retryable",
                     f->retryable);
}

static json_t *candidate_json(const struct grade *g)
{
    char hash[HASH_HEX];
    if (!g->language) {
        hash_hex(g->public_recording.data, g->public_recording.size, hash);
        return json_pack("{s:s, s:s, s:I}", "hash", hash, "language", "recording", "bytes",
                         (json_int_t)g->public_recording.size);
    }
    hash_hex(g->source, g->source_size, hash);
    return json_pack("{s:s, s:s, s:I, s:b}", "hash", hash, "language", g->language->name, "bytes",
                     (json_int_t)g->source_size, "build_cached", g->build_cached);
}

static json_t *result_json(const struct grade *g, kgrade_verdict verdict, double score)
{
    char now[32];
    time_t t = time(NULL);
    struct tm utc;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &utc));
    json_t *cases = json_array();
    for (size_t i = 0; i < g->n_cases; i++)
        json_array_append_new(cases, case_result_json(&g->results[i], g->task, g->candidate.info));
    json_t *environment =
        result_environment(g->candidate.info, sandbox_level_of(g->engine->sandbox));
    const json_t *python = g->python ? pythons_ask(g->engine, g->python, NULL) : NULL;
    if (python)
        json_object_set_new(environment, "python", json_deep_copy(python));
    if (g->device_state)
        json_object_set(environment, "device_state", g->device_state);
    return json_pack("{s:s, s:s, s:s, s:{s:s, s:s}, s:o, s:s, s:s, s:o, s:f, s:o, s:o, s:o, s:s}",
                     "schema", KGRADE_SCHEMA, "id", g->id, "graded_at", now, "task", "name",
                     g->task->name, "hash", g->task->hash, "candidate", candidate_json(g), "device",
                     g->device->name, "verdict", kgrade_verdict_name(verdict), "reason",
                     verdict == KGRADE_ACCEPTED ? json_null() : reason_json(&g->finding), "score",
                     score, "cases", cases, "environment", environment, "steps", steps_json(g),
                     "scored", "device_time");
}

int grade_answer(struct grade *g, bool failed, kgrade_result **ret, kgrade_error *err)
{
    kgrade_result *result = calloc(1, sizeof *result);
    if (!result)
        return fail(err, "out_of_memory", NULL, "No memory for a result.");
    result->verdict = failed ? g->finding.verdict : KGRADE_ACCEPTED;
    result->score = failed ? 0 : score_of(g);
    json_t *json = result_json(g, result->verdict, result->score);
    cleanup_free char *advice =
        advice_write(g->results, g->n_public, g->task, !g->device->runs_in_replayer);
    json_object_set_new(json, "advice", advice ? json_string(advice) : json_null());
    result->json = json ? json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(json);
    if (!result->json) {
        free(result);
        return fail(err, "out_of_memory", NULL, "The result could not be written as JSON.");
    }
    result->recording = g->public_recording;
    g->public_recording = (struct bytes){0};
    jails_ask_while_waiting(NULL, NULL); /* what follows only tidies up */
    *ret = result;
    return 0;
}
