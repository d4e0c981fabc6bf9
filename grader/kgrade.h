/*
 * libkgrade: grade a GPU kernel.
 *
 *     kgrade *engine;
 *     kgrade_error error;
 *     if (kgrade_open(NULL, &engine, &error)) ...
 *     kgrade_request request = {.task = "matmul", .device = "opencl", .language = "c", .source = text, .source_size = n};
 *     kgrade_result *result;
 *     if (kgrade_grade(engine, &request, NULL, NULL, &result, &error)) ... // only bad requests
 *     puts(kgrade_result_json(result));
 *
 * An engine may be used from several threads; grades on the same device wait for each other.  The process
 * that calls kgrade_open gets one child, the spawner, which does all further forking.
 * Functions return 0 on success and -1 with *error filled otherwise; error may be NULL.
 * Strings returned as `const char *` belong to the object they came from; `char **ret` is freed with free().
 */
#ifndef KGRADE_H
#define KGRADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kgrade/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KGRADE_API __attribute__((visibility("default")))

#define KGRADE_SCHEMA "kgrade.grade/1"
#define KGRADE_MAX_SOURCE_BYTES (1u << 20)
#define KGRADE_ID_DIGITS 32
#define KGRADE_DEFAULT_PYTHON_SPARES 2u
#define KGRADE_MAX_PYTHON_SPARES 16u

/* "0.1.0" */
KGRADE_API const char *kgrade_version(void);

typedef struct kgrade kgrade;

typedef struct kgrade_options {
    const char *
        prefix; /* where libexec/kgrade and share/kgrade are; NULL: beside the program, else as installed */
    const char *tasks;      /* folder of tasks; NULL: PREFIX/share/kgrade/tasks */
    const char *more_tasks; /* another one, which need not be there yet; NULL: none */
    const char *
        cache; /* folder for compiled references and baseline recordings; NULL: a private temporary one */
    /* Interpreters for candidates in Python, "[NAME=]PATH" separated by colons; the first is that of language "python", each
     * that of "python:NAME".  NULL: none. */
    const char *python;
    bool allow_reduced; /* accept SANDBOX_REDUCED where the machine cannot give more */
    bool force_reduced; /* run reduced even where full would work; for testing */
    /* Keep workers started ahead between grades, of the kinds that grades have asked for or kgrade_health_check has started:
     * for servers, and for many grades in a row.  Where workers are not started ahead it changes nothing. */
    bool keep_spares;
    /* Of these, how many recorders of each interpreter, and half as many, rounded up, of the interpreter that judges foreign
     * tasks, and on a device where candidates are rehearsed as many for that, which have no context; 0: KGRADE_DEFAULT_PYTHON_SPARES; at most KGRADE_MAX_PYTHON_SPARES.  Each has its frameworks imported and a context
     * on the device, and takes the memory of both. */
    uint32_t python_spares;
    double precision;     /* target half-width of the speedup's confidence interval; 0: 0.005 */
    uint32_t max_samples; /* per benchmark case; 0: 400 */
    double max_seconds;   /* of sampling per benchmark case; 0: 3 */
    double build_timeout_s, record_timeout_s, replay_timeout_s; /* 0: 60, 20 (Python: 120), 60 */
    double judge_budget_s; /* for all inputs, right answers and comparisons of one grade; 0: 600 */
} kgrade_options;

/* Errors: `sandbox_unavailable`, `tasks_unreadable`, `task_invalid`, `task_twice`, `spawner_failed`, `python_invalid`,
 * `bad_options`. */
KGRADE_API int kgrade_open(const kgrade_options *options, kgrade **ret, kgrade_error *error);
KGRADE_API void kgrade_close(kgrade *engine);

/* What this machine can do, as JSON: devices, compilers, sandbox mechanisms, clocks; each entry has "name", "ok",
 * "detail" and, when not ok, "fix". */
KGRADE_API int kgrade_doctor(const kgrade_options *options, char **ret_json, kgrade_error *error);

/* Tasks. */
KGRADE_API int kgrade_tasks_json(kgrade *engine, char **ret_json, kgrade_error *error);
KGRADE_API int kgrade_task_json(kgrade *engine, const char *name, char **ret_json,
                                kgrade_error *error);
/* Reads the folders of tasks again.  Grades that run go on with the tasks that they began with; after an error everything
 * is as it was before.  Errors: as of kgrade_open for tasks. */
KGRADE_API int kgrade_reload_tasks(kgrade *engine, kgrade_error *error);
/* A source file to start from; language NULL: the device's first. */
KGRADE_API int kgrade_task_skeleton(kgrade *engine, const char *task, const char *device,
                                    const char *language, char **ret_source, kgrade_error *error);
/* Lints a task folder; *ret_json lists findings; *ret_passed tells whether it is fit for use. */
KGRADE_API int kgrade_check_task(kgrade *engine, const char *folder, bool *ret_passed,
                                 char **ret_json, kgrade_error *error);

/* Called from the thread that grades, describes, profiles or compares, as that proceeds.  step is "building", "recording",
 * "replaying", "judging" or "done", in a profile or comparison also "profiling", of a description "describing"; done and total
 * count cases within the step.  "building" 1 of 1: it is built and waits for the device.  Return false to cancel. */
typedef bool (*kgrade_progress)(void *data, const char *step, unsigned done, unsigned total);

/* Writes FOLDER/task.json for a foreign problem, from FOLDER/problem.json and the problem's own Python files, which are run in
 * a jail with the first interpreter; device NULL: the default one.  progress NULL: it cannot be cancelled.  Errors: `no_python`,
 * `unknown_device`, `file_unreadable`, `problem_invalid`, `task_invalid`, `python_failed`, `reference_failed`,
 * `reference_random`, `inputs_random`, `inputs_fixed`, `inputs_unsupported`, `answers_fixed`, `problem_too_slow`, `cancelled`,
 * and those of the machine. */
KGRADE_API int kgrade_describe_task(kgrade *engine, const char *folder, const char *device,
                                    kgrade_progress progress, void *data, kgrade_error *error);

/* Whether a device works, as JSON: {"device", "ok", "checked_at", "took_ms", "reason", "suspect", "quarantined", "faults"}.
 *
 * The check is a kernel with a known answer, in fresh processes.  The engine makes one by itself after a fault that may
 * have left the device unusable; this only tells what is known.
 *
 * "ok": the last check passed and nothing has happened since; false before the first, when "checked_at" is null.
 * "quarantined": the last check failed, and grades end with infrastructure_error `device_quarantined` until one passes;
 * "reason" ({"code", "message", "hint"}, else null) tells why.  "faults": how often the device became suspect.
 * Errors: `unknown_device`. */
KGRADE_API int kgrade_health(kgrade *engine, const char *device, char **ret_json,
                             kgrade_error *error);
/* Makes a check now, waiting for a grade that runs (up to minutes), unless the last one failed less than ten seconds
 * ago; kgrade_health then tells.  Where spares are kept, from now on those of all kinds are.  go_on (NULL: always) is asked several times a second and ends the wait with false.
 * Errors: `unknown_device`, `cancelled`. */
KGRADE_API int kgrade_health_check(kgrade *engine, const char *device, bool (*go_on)(void *data),
                                   void *data, kgrade_error *error);

/* A grade. */
typedef enum kgrade_verdict {
    KGRADE_ACCEPTED,
    KGRADE_WRONG_ANSWER,
    KGRADE_BUILD_FAILED,
    KGRADE_REFUSED,
    KGRADE_RUNTIME_ERROR,
    KGRADE_TIMEOUT,
    KGRADE_UNRESOLVED,
    KGRADE_SUSPECT,
    KGRADE_INFRASTRUCTURE_ERROR,
} kgrade_verdict;

KGRADE_API const char *kgrade_verdict_name(kgrade_verdict verdict); /* "accepted", ... */

typedef struct kgrade_file {
    const char *name; /* letters, digits, dots, dashes, underlines; no path */
    const char *text;
    size_t size;
} kgrade_file;

/* Makes one source of several files, {"files": {NAME: TEXT, ...}} as JSON, whatever their order.  Those with the extension
 * of the language (.c, .cu) are compiled and linked together, the others are there to be included.  free() *ret_source.
 * Errors: `source_not_utf8`, `bad_bundle`, `out_of_memory`. */
KGRADE_API int kgrade_bundle(const kgrade_file *files, size_t n, char **ret_source,
                             kgrade_error *error);

typedef struct kgrade_request {
    const char *task, *device, *language; /* language NULL: the device's first */
    const char *source;                   /* of one file, or what kgrade_bundle made */
    size_t source_size;
    const char *
        id; /* becomes the result's "id": KGRADE_ID_DIGITS lower-case hex digits; NULL: a random one */
    bool
        profile; /* after the grade also a profile, as the result's "profile"; see kgrade_profile */
} kgrade_request;

typedef struct kgrade_result kgrade_result;

/* Checks a request without grading: `unknown_task`, `unknown_device`, `unknown_language`, `empty_source`,
 * `source_too_large`, `source_not_utf8`, `bad_bundle`, `no_source_file`, `task_not_for_device`, `bad_id`, `no_python`. */
KGRADE_API int kgrade_check_request(kgrade *engine, const kgrade_request *request,
                                    kgrade_error *error);

/* Fails only for a bad request (the codes above), `cancelled`, or want of memory; everything else, infrastructure faults included, is
 * a result with a verdict. */
KGRADE_API int kgrade_grade(kgrade *engine, const kgrade_request *request, kgrade_progress progress,
                            void *data, kgrade_result **ret, kgrade_error *error);

KGRADE_API kgrade_verdict kgrade_result_verdict(const kgrade_result *result);
KGRADE_API double kgrade_result_score(const kgrade_result *result);
KGRADE_API const char *kgrade_result_json(const kgrade_result *result); /* schema kgrade.grade/1 */
/* The recording that was replayed, in the format of RECORDING.md; NULL when the grade did not get that far. */
KGRADE_API const void *kgrade_result_recording(const kgrade_result *result, size_t *ret_size);
KGRADE_API void kgrade_result_free(kgrade_result *result);

/* A profile of a candidate's host code: where CPU time goes between a call and what it hands to the device.  A diagnosis, apart from
 * any grade: it moves no score. */
#define KGRADE_PROFILE_SCHEMA "kgrade.profile/1"

typedef struct kgrade_profile_options {
    unsigned processes; /* fresh ones, each for one first call; 0: 5; at most 100 */
    unsigned budget_ms; /* of warm calls, twice; 0: 600; at most 60000 */
    bool control;       /* also tell what it costs that ranges can be noted, and that they are */
    bool trace;         /* also keep single ranges, in Chrome's trace format */
} kgrade_profile_options;

/* *ret_json is the report; free() it.  What becomes of the candidate is in it ("reason", null when all went well), ranges
 * that do not nest are ("errors").  options may be NULL.  "profiling" is the step that progress tells of.
 * Errors: as of kgrade_check_request, `bad_profile_options`, `cancelled`. */
KGRADE_API int kgrade_profile(kgrade *engine, const kgrade_request *request,
                              const kgrade_profile_options *options, kgrade_progress progress,
                              void *data, char **ret_json, kgrade_error *error);

/* Two candidates for the same task and device against each other: their kernels, sampled in turn, and their launch paths,
 * called in turn, each time in a fresh process.  *ret_json is the report, whose "verdict" is said of b; free() it.
 * Errors: as of kgrade_check_request, `task_not_for_device`, `different_requests`, `cancelled`. */
#define KGRADE_COMPARE_SCHEMA "kgrade.compare/1"
KGRADE_API int kgrade_compare(kgrade *engine, const kgrade_request *a, const kgrade_request *b,
                              kgrade_progress progress, void *data, char **ret_json,
                              kgrade_error *error);

/* Recordings. */
/* As JSON, and as Graphviz DOT. */
KGRADE_API int kgrade_recording_show(const void *data, size_t size, bool dot, char **ret_text,
                                     kgrade_error *error);
/* Grades a recording again, without its source. */
KGRADE_API int kgrade_replay(kgrade *engine, const char *task, const void *recording, size_t size,
                             kgrade_progress progress, void *data, kgrade_result **ret,
                             kgrade_error *error);

#ifdef __cplusplus
}
#endif

#endif
