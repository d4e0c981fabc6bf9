#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "../grade/baseline.h"
#include "../grade/grade.h"
#include "lint.h"

static bool device_missing(const kgrade_result *result)
{
    json_t *json = json_loads(kgrade_result_json(result), 0, NULL);
    const char *code = json_string_value(json_object_get(json_object_get(json, "reason"), "code"));
    bool missing =
        code && (!strcmp(code, "device_unavailable") || !strcmp(code, "device_failed") ||
                 !strcmp(code, "device_quarantined") || !strcmp(code, "compiler_missing"));
    json_decref(json);
    return missing;
}

void lint_baseline(struct lint *l, const struct device *device)
{
    char check[64];
    const struct baseline_source source = baseline_source(l->engine, device, l->task);
    kgrade_error err = {.code = ""};
    kgrade_result *result = NULL;
    snprintf(check, sizeof check, "baseline: %s", device->name);
    if (!source.text) {
        lint_report(l, check, true, "there is none; the task cannot be graded on this device");
        return;
    }
    const kgrade_request request = {.source = (const char *)source.text->data,
                                    .source_size = source.text->size,
                                    .language = source.language->name};
    if (grade_source(l->engine, l->task, device, source.language, &request, NULL, NULL, &result,
                     &err)) {
        lint_report(l, check, false, "%s %s", err.message, err.hint);
        return;
    }
    kgrade_verdict verdict = kgrade_result_verdict(result);
    /* A machine without the device says nothing about the task. */
    bool elsewhere = verdict == KGRADE_INFRASTRUCTURE_ERROR && device_missing(result);
    /* On a busy CPU clocks disagree; on a GPU that would be for the task's author to explain. */
    bool timed_badly = verdict == KGRADE_SUSPECT && device->runs_in_replayer;
    bool ok =
        verdict == KGRADE_ACCEPTED || verdict == KGRADE_UNRESOLVED || timed_badly || elsewhere;
    json_t *json = json_loads(kgrade_result_json(result), 0, NULL);
    const json_t *reason = json_object_get(json, "reason");
    const char *message = json_string_value(json_object_get(reason, "message"));
    const char *hint = json_string_value(json_object_get(reason, "hint"));
    if (elsewhere)
        lint_report(l, check, true, "not tried: %s", message ? message : "the device is not here");
    else if (ok)
        lint_report(l, check, true, "%s, score %.3f against itself", kgrade_verdict_name(verdict),
                    kgrade_result_score(result));
    else
        lint_report(l, check, false, "%s: %s %s", kgrade_verdict_name(verdict),
                    message ? message : "", hint ? hint : "");
    json_decref(json);
    kgrade_result_free(result);
}
