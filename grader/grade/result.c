#define _GNU_SOURCE
#include "result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../wire.h"

const char *kgrade_verdict_name(kgrade_verdict verdict)
{
    static const char *const names[] = {"accepted",   "wrong_answer",  "build_failed",
                                        "refused",    "runtime_error", "timeout",
                                        "unresolved", "suspect",       "infrastructure_error"};
    return (size_t)verdict < sizeof names / sizeof names[0] ? names[verdict] : "unknown";
}

kgrade_verdict kgrade_result_verdict(const kgrade_result *result)
{
    return result->verdict;
}

double kgrade_result_score(const kgrade_result *result)
{
    return result->score;
}

const char *kgrade_result_json(const kgrade_result *result)
{
    return result->json;
}

const void *kgrade_result_recording(const kgrade_result *result, size_t *ret_size)
{
    *ret_size = result->recording.size;
    return result->recording.data;
}

void kgrade_result_free(kgrade_result *result)
{
    if (!result)
        return;
    bytes_free(&result->recording);
    free(result->json);
    free(result);
}

static double norm_of(const json_t *correctness)
{
    const json_t *norm = json_object_get(correctness, "norm");
    return json_is_real(norm) ? json_real_value(norm) : INFINITY;
}

void case_result_judge(struct case_result *r, struct judgement *j)
{
    bool first = !r->judged;
    bool worse = first || (r->pass && !j->pass) ||
                 (r->pass == j->pass && norm_of(j->correctness) > norm_of(r->correctness));
    r->judged = true;
    r->judged_samples++;
    r->pass = (first || r->pass) && j->pass;
    if (worse) {
        memcpy(r->code, j->code, sizeof r->code);
        json_decref(r->correctness);
        r->correctness = steal_pointer(&j->correctness);
    }
    json_decref(j->correctness);
    j->correctness = NULL;
}

#define MAX_SAMPLE_NS 1e15 /* ten days; a replayer's word is not trusted to fit an integer */

/* Whole nanoseconds: no clock resolves less. */
static json_t *samples_json(const struct series *s)
{
    json_t *samples = json_array();
    for (size_t i = 0; i < s->n_kept; i++)
        json_array_append_new(
            samples, json_integer(llround(fmax(fmin(s->kept[i], MAX_SAMPLE_NS), -MAX_SAMPLE_NS))));
    return samples;
}

static json_t *series_json(const struct series *s, const struct sampling *sampling,
                           const json_t *info)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:O?, s:O?, s:s, s:o}",
        "centre_ns", wire_number_json(s->time.centre), "median_ns",
        wire_number_json(s->time.median), "mean_ns", wire_number_json(s->time.mean), "min_ns",
        wire_number_json(s->time.min), "p10_ns", wire_number_json(s->time.p10), "p90_ns",
        wire_number_json(s->time.p90), "p99_ns", wire_number_json(s->time.p99), "stderr_ns",
        wire_number_json(s->time.standard_error), "samples", (json_int_t)s->time.n, "void_samples",
        (json_int_t)s->voids, "floor_ns", wire_number_json(s->floor_ns), "resolution_ns",
        json_object_get(info, "resolution_ns"), "cache", json_object_get(info, "cache"), "stopped",
        sampling->stopped, "samples_ns", samples_json(s));
}

static json_t *roofline_json(const struct roofline *r)
{
    return json_pack("{s:o, s:s, s:I, s:I, s:o, s:o, s:o}", "fraction",
                     wire_number_json(r->fraction), "bound", r->bound, "bytes",
                     (json_int_t)r->bytes, "operations", (json_int_t)r->operations,
                     "memory_bytes_per_s", wire_number_json(r->memory_bytes_per_s),
                     "cache_bytes_per_s", wire_number_json(r->cache_bytes_per_s),
                     "operations_per_s", wire_number_json(r->operations_per_s));
}

static json_t *overhead_json(const struct host_overhead *o)
{
    return json_pack("{s:b, s:I, s:o, s:o, s:I, s:I, s:o}", "scored", 0, "cold_ns",
                     (json_int_t)o->cold_ns, "warm_ns", wire_number_json(o->warm_ns), "warm_p90_ns",
                     wire_number_json(o->warm_p90_ns), "calls", (json_int_t)o->calls, "launches",
                     (json_int_t)o->launches, "per_launch_ns",
                     o->launches ? wire_number_json(o->warm_ns / o->launches) : json_null());
}

static json_t *correctness_json(const struct case_result *r)
{
    if (!r->judged)
        return json_null();
    json_t *json =
        json_pack("{s:b, s:I}", "pass", r->pass, "judged_samples", (json_int_t)r->judged_samples);
    if (r->task_case->kind != CASE_HIDDEN && r->correctness)
        json_object_update(json, r->correctness);
    return json;
}

static json_t *speedup_json(const struct sampling *s)
{
    json_t *json =
        json_pack("{s:o, s:o, s:o, s:f}", "value", wire_number_json(s->speedup), "low",
                  wire_number_json(s->low), "high", wire_number_json(s->high), "confidence", 0.95);
    json_t *rounds = s->n_rounds ? json_array() : NULL;
    for (size_t i = 0; i < s->n_rounds; i++)
        json_array_append_new(rounds, json_pack("{s:o, s:o, s:o, s:b}", "value",
                                                wire_number_json(s->rounds[i].speedup), "low",
                                                wire_number_json(s->rounds[i].low), "high",
                                                wire_number_json(s->rounds[i].high), "counts",
                                                s->rounds[i].counts));
    if (rounds)
        json_object_set_new(json, "rounds", rounds);
    return json;
}

json_t *case_result_json(const struct case_result *r, const struct task *task, const json_t *info)
{
    bool hidden = r->task_case->kind == CASE_HIDDEN;
    json_t *json = json_pack("{s:s, s:o, s:o}", "kind", case_kind_name(r->task_case->kind), "dims",
                             hidden ? json_null() : task_dims_json(task, r->task_case->dims),
                             "correctness", correctness_json(r));
    if (hidden)
        return json;
    if (r->recorded)
        json_object_set_new(json, "host_overhead", overhead_json(&r->overhead));
    if (!r->sampled)
        return json;
    const struct sampling *s = &r->sampling;
    json_object_set_new(json, "device_time", series_json(&s->candidate, s, info));
    json_object_set_new(json, "baseline", series_json(&s->baseline, s, info));
    json_object_set_new(json, "speedup", speedup_json(s));
    if (s->batch_replays)
        json_object_set_new(json, "guard",
                            json_pack("{s:I, s:o}", "replays", (json_int_t)s->batch_replays,
                                      "mean_ns", wire_number_json(s->batch_ns)));
    if (r->roofline.fraction >= 0)
        json_object_set_new(json, "roofline", roofline_json(&r->roofline));
    return json;
}

/* The value of the first line of /proc/cpuinfo that begins with `key`; "" when there is none. */
static void cpuinfo(const char *key, char *ret, size_t size)
{
    cleanup_file FILE *file = fopen("/proc/cpuinfo", "re");
    char line[512];
    ret[0] = 0;
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, key, strlen(key)))
            continue;
        colon += 1 + (colon[1] == ' ');
        colon[strcspn(colon, "\n")] = 0;
        snprintf(ret, size, "%s", colon);
        return;
    }
}

json_t *result_environment(const json_t *info, enum sandbox_level level)
{
    char cpu[128], mhz[32];
    struct utsname host;
    cpuinfo("model name", cpu, sizeof cpu);
    cpuinfo("cpu MHz", mhz, sizeof mhz);
    if (uname(&host))
        memset(&host, 0, sizeof host);
    json_t *json =
        json_pack("{s:s, s:s, s:{s:s, s:s, s:f, s:I}}", "kgrade", kgrade_version(), "isolation",
                  sandbox_level_name(level), "host", "kernel", host.release, "cpu", cpu, "cpu_mhz",
                  strtod(mhz, NULL), "cpus", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN));
    if (info)
        json_object_update(json, (json_t *)(uintptr_t)info);
    return json;
}
