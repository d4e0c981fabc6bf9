#define _GNU_SOURCE
#include "lint.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"

void lint_report(struct lint *l, const char *check, bool ok, const char *format, ...)
{
    char detail[1200];
    va_list ap;
    va_start(ap, format);
    vsnprintf(detail, sizeof detail, format, ap);
    va_end(ap);
    json_array_append_new(l->findings,
                          json_pack("{s:s, s:b, s:s}", "check", check, "ok", ok, "detail", detail));
    l->passed = l->passed && ok;
}

struct lint_dims lint_dims(const struct task *task, const int64_t *dims)
{
    struct lint_dims ret;
    json_auto_t *json = task_dims_json(task, dims);
    cleanup_free char *text = json_dumps(json, JSON_COMPACT);
    snprintf(ret.text, sizeof ret.text, "%s", text ? text : "?");
    return ret;
}

int kgrade_check_task(kgrade *engine, const char *folder, bool *ret_passed, char **ret_json,
                      kgrade_error *err)
{
    cleanup_task struct task *task = NULL;
    kgrade_error problem = {.code = ""};
    struct lint l = {.engine = engine, .findings = json_array(), .passed = true};
    if (task_load(folder, &task, &problem)) {
        lint_report(&l, "task.json", false, "%s %s", problem.message, problem.hint);
    } else {
        l.task = task;
        lint_report(&l, "task.json", true, "%zu parameters, %zu cases", task->n_params,
                    task->n_cases);
        lint_roofline(&l);
        if (l.passed)
            lint_answers(&l);
        for (size_t i = 0; l.passed && device_registry[i]; i++)
            if (task_devices_include(task->devices, device_registry[i]->name))
                lint_baseline(&l, device_registry[i]);
    }
    json_t *json = json_pack("{s:s, s:b, s:o}", "task", task ? task->name : folder, "passed",
                             l.passed, "findings", l.findings);
    *ret_passed = l.passed;
    *ret_json = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
    json_decref(json);
    return *ret_json ? 0
                     : fail(err, "out_of_memory", NULL, "The report could not be written as JSON.");
}
