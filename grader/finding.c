#define _GNU_SOURCE
#include "finding.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Messages and hints may come from a worker in which a candidate runs, and are cut at a fixed size, perhaps in the
 * middle of a character: what is no UTF-8 becomes question marks, or the result could not be written as JSON. */
static void mend(char *text)
{
    for (char *p = text; *p;) {
        unsigned char c = (unsigned char)*p;
        size_t size = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
        json_t *character = size && strnlen(p, size) == size ? json_stringn(p, size) : NULL;
        if (!character)
            *p = '?';
        p += character ? size : 1;
        json_decref(character);
    }
}

/* A code is a word of small letters, digits and underscores, whoever chose it. */
static void name(char *code)
{
    for (char *p = code; *p; p++)
        if (!(*p >= 'a' && *p <= 'z') && !(*p >= '0' && *p <= '9'))
            *p = '_';
    if (!*code)
        strcpy(code, "unknown");
}

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
    if (!finding->reason.message[0])
        strcpy(finding->reason.message, "No reason was given.");
    name(finding->reason.code);
    mend(finding->reason.message);
    mend(finding->reason.hint);
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
    if (verdict == KGRADE_INFRASTRUCTURE_ERROR) {
        verdict = KGRADE_REFUSED;
        finding->hides_fault = true;
    }
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
