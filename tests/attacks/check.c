#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "candidate.h"
#include "run.h"

#define MAX_LOG_BYTES (64u << 10)
#define MAX_RESULT_BYTES (1u << 20)
#define BREACH "breach: "         /* what attack.h prints when an attack has succeeded */
#define BREACH_STATUS "status 99" /* and how it ends */

void run_complain(struct run *run, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    fputs(RUN_INDENT, stdout);
    vprintf(format, ap);
    putchar('\n');
    va_end(ap);
    run->failures++;
}

bool check_accepted(const kgrade_result *result)
{
    if (kgrade_result_verdict(result) == KGRADE_ACCEPTED)
        return true;
    json_auto_t *json = json_loads(kgrade_result_json(result), 0, NULL);
    return kgrade_result_verdict(result) == KGRADE_UNRESOLVED &&
           !strcmp(candidate_text(json_object_get(json, "reason"), "code"), "too_noisy");
}

static json_t *as_json(const struct outcome *o)
{
    if (o->result)
        return json_loads(kgrade_result_json(o->result), JSON_REJECT_DUPLICATES, NULL);
    return json_pack("{s:s, s:{s:s, s:s, s:s}, s:i}", "verdict", "not_taken", "reason", "code",
                     o->error.code, "message", o->error.message, "hint", o->error.hint, "score", 0);
}

bool check_machine_was_busy(const struct outcome *o)
{
    if (!o->result)
        return false;
    json_auto_t *json = json_loads(kgrade_result_json(o->result), 0, NULL);
    const json_t *reason = json_object_get(json, "reason");
    const char *code = candidate_text(reason, "code");
    switch (kgrade_result_verdict(o->result)) {
    case KGRADE_TIMEOUT:
        return true;
    case KGRADE_UNRESOLVED:
        return !strcmp(code, "too_noisy");
    case KGRADE_SUSPECT:
        return !strcmp(code, "clocks_disagree");
    case KGRADE_BUILD_FAILED:
        return !strcmp(code, "build_timeout");
    case KGRADE_INFRASTRUCTURE_ERROR:
        return json_is_true(json_object_get(reason, "retryable"));
    case KGRADE_ACCEPTED:
    case KGRADE_WRONG_ANSWER:
    case KGRADE_REFUSED:
    case KGRADE_RUNTIME_ERROR:
    default:
        return false;
    }
}

static bool is_verdict_expected(const struct outcome *o, const char *verdict, const json_t *expect)
{
    const json_t *single = json_object_get(expect, "verdict"),
                 *more = json_object_get(expect, "verdicts");
    return candidate_is_one_of(verdict, single, more) ||
           (o->result && check_accepted(o->result) &&
            candidate_is_one_of("accepted", single, more));
}

static bool is_code_expected(const char *verdict, const char *code, const json_t *expect)
{
    return strcmp(verdict, candidate_text(expect, "verdict")) != 0 ||
           candidate_is_one_of(code, json_object_get(expect, "code"),
                               json_object_get(expect, "codes"));
}

bool check_expected(const struct outcome *o, const json_t *expect)
{
    json_auto_t *json = as_json(o);
    const char *verdict = candidate_text(json, "verdict");
    return is_verdict_expected(o, verdict, expect) &&
           is_code_expected(verdict, candidate_text(json_object_get(json, "reason"), "code"),
                            expect);
}

/* A reason that an author can act upon. */
static void check_reason(struct run *run, const json_t *expect, const char *verdict,
                         const json_t *reason)
{
    const char *code = candidate_text(reason, "code"), *message = candidate_text(reason, "message");
    const char *hint = candidate_text(reason, "hint"), *log = candidate_text(reason, "log");
    bool first = !strcmp(verdict, candidate_text(expect, "verdict"));
    if (!is_code_expected(verdict, code, expect))
        run_complain(run, "the reason is \"%s\"", code);
    if (json_object_get(expect, "forbidden_codes") &&
        candidate_is_one_of(code, NULL, json_object_get(expect, "forbidden_codes")))
        run_complain(run, "the reason is \"%s\": the attack has succeeded", code);
    if (strcmp(verdict, "accepted") && (!*message || !*code))
        run_complain(run, "there is no message or no code");
    bool advice = !strcmp(verdict, "refused") || !strcmp(verdict, "build_failed") ||
                  !strcmp(verdict, "timeout") || !strcmp(verdict, "wrong_answer");
    if (advice && !*hint)
        run_complain(run, "there is no hint");
    if (json_is_true(json_object_get(expect, "log")) && !*log)
        run_complain(run, "there is no log");
    if (strlen(log) > MAX_LOG_BYTES)
        run_complain(run, "the log has %zu bytes", strlen(log));
    const json_t *words = json_object_get(expect, "says");
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *w = json_string_value(json_array_get(words, i));
        if (first && !strstr(message, w) && !strstr(hint, w) && !strstr(log, w))
            run_complain(run, "neither message nor hint nor log mentions \"%s\"", w);
    }
    for (const char *c = log; *c; c++)
        if ((unsigned char)*c < ' ' && *c != '\n' && *c != '\t') {
            run_complain(run, "the log has the control character %d", *c);
            break;
        }
}

/* Nothing of the machine's but what the author has written himself, and nothing that is not his to
 * know. */
static void check_leaks(struct run *run, const json_t *expect, const char *source, const char *text)
{
    char here[4096];
    const char *const never[] = {run->bait.folder, KGRADE_BUILD_DIR, KGRADE_SOURCE_DIR,
                                 getcwd(here, sizeof here)};
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
        if (never[i] && strlen(never[i]) > 1 && strstr(text, never[i]) && !strstr(source, never[i]))
            run_complain(run, "the result contains \"%s\"", never[i]);
    if (strstr(text, run->bait.secret) || strstr(text, run->bait.reference))
        run_complain(run, "the result contains a secret");
    if (strstr(text, BREACH) || strstr(text, BREACH_STATUS))
        run_complain(run, "the attack has succeeded");
    const json_t *words = json_object_get(expect, "absent");
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *w = json_string_value(json_array_get(words, i));
        if (strstr(text, w))
            run_complain(run, "the result contains \"%s\"", w);
    }
    if (strlen(text) > MAX_RESULT_BYTES)
        run_complain(run, "the result has %zu bytes", strlen(text));
}

/* The recording leaves the house, too. */
static void check_recording(struct run *run, const kgrade_result *result)
{
    size_t size = 0;
    const void *data = kgrade_result_recording(result, &size);
    if (data && (memmem(data, size, run->bait.secret, sizeof run->bait.secret - 1) ||
                 memmem(data, size, run->bait.reference, sizeof run->bait.reference - 1)))
        run_complain(run, "the recording contains a secret");
}

static void check_score(struct run *run, const json_t *expect, const char *verdict, double score)
{
    const json_t *limit = json_object_get(expect, "max_score");
    if (strcmp(verdict, "accepted") ? score != 0 : score <= 0)
        run_complain(run, "a score of %g does not go with the verdict", score);
    if (limit && score > json_number_value(limit))
        run_complain(run, "the score of %g is better than an honest one could be", score);
}

void check_outcome(struct run *run, const json_t *expect, const char *source,
                   const struct outcome *outcome)
{
    json_auto_t *json = as_json(outcome);
    cleanup_free char *text = json_dumps(json, JSON_COMPACT);
    if (!text) {
        run_complain(run, "the result is not JSON");
        return;
    }
    const char *verdict = candidate_text(json, "verdict");
    const json_t *reason = json_object_get(json, "reason");
    double score = json_number_value(json_object_get(json, "score"));
    printf(RUN_INDENT "%s %s score %.3g: %s %s\n", verdict, candidate_text(reason, "code"), score,
           candidate_text(reason, "message"), candidate_text(reason, "hint"));
    if (!is_verdict_expected(outcome, verdict, expect))
        run_complain(run, "the verdict is \"%s\", not \"%s\"", verdict,
                     candidate_text(expect, "verdict"));
    if (outcome->result &&
        strcmp(verdict, kgrade_verdict_name(kgrade_result_verdict(outcome->result))))
        run_complain(run, "the JSON and kgrade_result_verdict differ");
    check_reason(run, expect, verdict, reason);
    check_leaks(run, expect, source, text);
    if (outcome->result)
        check_recording(run, outcome->result);
    if (bait_taken(&run->bait))
        run_complain(run, "somebody has reached a socket of the machine");
    check_score(run, expect, verdict, score);
    if (run->failures)
        printf(RUN_INDENT "%s\n", text);
}
