#include "finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int finding_set(struct finding *finding, kgrade_verdict verdict, const char *code, const char *hint,
                const char *format, ...)
{
    va_list ap;
    finding->verdict = verdict;
    finding->told = false;
    finding->retryable = verdict == KGRADE_INFRASTRUCTURE_ERROR;
    snprintf(finding->reason.code, sizeof finding->reason.code, "%s", code);
    snprintf(finding->reason.hint, sizeof finding->reason.hint, "%s", hint ? hint : "");
    va_start(ap, format);
    vsnprintf(finding->reason.message, sizeof finding->reason.message, format, ap);
    va_end(ap);
    return -1;
}

int finding_infrastructure(struct finding *finding, const kgrade_error *err)
{
    return finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, err->code, err->hint, "%s",
                       err->message);
}

int finding_hide(struct finding *finding)
{
    kgrade_verdict verdict = finding->verdict;
    if (verdict == KGRADE_INFRASTRUCTURE_ERROR && !finding->told)
        return -1;
    if (verdict == KGRADE_INFRASTRUCTURE_ERROR)
        verdict = KGRADE_REFUSED;
    finding_free(finding);
    return finding_set(finding, verdict, "hidden_case_failed",
                       "The kernel must be right for every shape that the task's statement allows: "
                       "try sizes of 1, primes, "
                       "and sizes just above and below multiples of your tiles.",
                       "The candidate failed on a hidden case.");
}

void finding_free(struct finding *finding)
{
    free(finding->log);
    finding->log = NULL;
}
