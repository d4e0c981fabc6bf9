/*
 * Measurements of the grader itself, through libkgrade: see README.md.
 *
 *     kgrade-bench invariance [ROUNDS]    a candidate that sleeps against one that does not
 *     kgrade-bench aa [ROUNDS]            a task's baseline as a candidate
 *     kgrade-bench grade_cost [GRADES]    a warm vector_add grade, by step
 */
#define _GNU_SOURCE
#include <jansson.h>
#include <kgrade/kgrade.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/io.h"

#define MAX_SOURCE_BYTES (1u << 20)
#define MAX_STEPS 16

static kgrade *engine;

static void die(const kgrade_error *error)
{
    fprintf(stderr, "%s: %s %s\n", error->code, error->message, error->hint);
    exit(1);
}

/* The text of a candidate; one of tests/attacks has honest.h put in the place of its #include. */
static char *read_source(const char *path)
{
    static const char include[] = "#include \"../../honest.h\"\n";
    struct bytes candidate = {0}, honest = {0};
    kgrade_error error;
    char *text;
    if (io_read_file(path, MAX_SOURCE_BYTES, &candidate, &error))
        die(&error);
    char *at = strstr((char *)candidate.data, include);
    if (!at)
        return (char *)candidate.data;
    if (io_read_file(KGRADE_SOURCE_DIR "/tests/attacks/honest.h", MAX_SOURCE_BYTES, &honest,
                     &error))
        die(&error);
    if (asprintf(&text, "%.*s%s%s", (int)(at - (char *)candidate.data), (char *)candidate.data,
                 (const char *)honest.data, at + strlen(include)) < 0)
        abort();
    bytes_free(&candidate);
    bytes_free(&honest);
    return text;
}

/* New reference.  Ends the program unless the grade is accepted, or too noisy where `noisy_too`. */
static json_t *grade(const char *task, const char *source, bool noisy_too)
{
    const kgrade_request request = {.task = task,
                                    .device = "opencl",
                                    .language = "c",
                                    .source = source,
                                    .source_size = strlen(source)};
    kgrade_result *result;
    kgrade_error error;
    if (kgrade_grade(engine, &request, NULL, NULL, &result, &error))
        die(&error);
    json_t *json = json_loads(kgrade_result_json(result), 0, NULL);
    kgrade_verdict verdict = kgrade_result_verdict(result);
    if (verdict != KGRADE_ACCEPTED && !(noisy_too && verdict == KGRADE_UNRESOLVED)) {
        const char *message =
            json_string_value(json_object_get(json_object_get(json, "reason"), "message"));
        fprintf(stderr, "%s: %s\n", kgrade_verdict_name(verdict), message ? message : "");
        exit(1);
    }
    kgrade_result_free(result);
    return json;
}

static double score_of(const json_t *result)
{
    return json_number_value(json_object_get(result, "score"));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts. */
static double quantile(double *values, size_t n, double q)
{
    qsort(values, n, sizeof *values, by_value);
    return n ? values[(size_t)lround(q * (double)(n - 1))] : NAN;
}

/* The median over the public cases of a figure of their host overhead, in ns. */
static double overhead_of(const json_t *result, const char *figure)
{
    double values[64];
    size_t n = 0;
    const json_t *cases = json_object_get(result, "cases");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i);
        const json_t *value = json_object_get(json_object_get(one, "host_overhead"), figure);
        if (json_is_number(value) && n < 64)
            values[n++] = json_number_value(value);
    }
    return quantile(values, n, 0.5);
}

/* The baseline of matmul behind an entry that sleeps first.  Caller frees. */
static char *sleepy(const char *baseline)
{
    char *text;
    if (asprintf(&text,
                 "#define _GNU_SOURCE\n"
                 "#include <time.h>\n"
                 "#define matmul matmul_awake\n"
                 "%s\n"
                 "#undef matmul\n"
                 "void matmul(cl_mem a, cl_mem b, cl_mem c, int m, int n, int k, cl_command_queue "
                 "queue)\n"
                 "{\n"
                 "    const struct timespec pause = {.tv_nsec = 200000};\n"
                 "    nanosleep(&pause, NULL);\n"
                 "    matmul_awake(a, b, c, m, n, k, queue);\n"
                 "}\n",
                 baseline) < 0)
        abort();
    return text;
}

static int invariance(size_t rounds)
{
    cleanup_free char *awake = read_source(KGRADE_SOURCE_DIR "/tasks/matmul/baseline.opencl.c");
    cleanup_free char *asleep = sleepy(awake);
    double ratios[1000];
    printf("matmul, with and without 200 us of sleep in the entry\n");
    printf("round  score asleep/awake  warm host overhead asleep - awake (us)\n");
    for (size_t i = 0; i < rounds && i < 1000; i++) {
        json_auto_t *a = grade("matmul", awake, false), *b = grade("matmul", asleep, false);
        ratios[i] = score_of(b) / score_of(a);
        printf("%5zu  %18.4f  %38.1f\n", i + 1, ratios[i],
               (overhead_of(b, "warm_ns") - overhead_of(a, "warm_ns")) / 1e3);
        fflush(stdout);
    }
    printf("median %18.4f\n", quantile(ratios, rounds < 1000 ? rounds : 1000, 0.5));
    return 0;
}

static int against_itself(size_t rounds)
{
    cleanup_free char *baseline = read_source(KGRADE_SOURCE_DIR "/tasks/matmul/baseline.opencl.c");
    double worst = 0;
    printf("matmul, the baseline as a candidate\nround   score\n");
    for (size_t i = 0; i < rounds; i++) {
        json_auto_t *result = grade("matmul", baseline, false);
        double score = score_of(result);
        worst = fmax(worst, fabs(score - 1));
        printf("%5zu  %6.4f\n", i + 1, score);
        fflush(stdout);
    }
    printf("farthest from 1: %.4f\n", worst);
    return 0;
}

struct step {
    const char *name; /* belongs to the first result */
    double *values;
};

static int grade_cost(size_t grades)
{
    cleanup_free char *source =
        read_source(KGRADE_SOURCE_DIR "/tests/attacks/honest/honest/candidate.c");
    json_auto_t *first = grade("vector_add", source, true); /* warms the engine's caches */
    struct step steps[MAX_STEPS];
    size_t n_steps = 0;
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(first, "steps"), name, value)
    {
        if (n_steps < MAX_STEPS)
            steps[n_steps++] = (struct step){name, calloc(grades, sizeof(double))};
    }
    cleanup_free double *walls = calloc(grades, sizeof *walls);
    for (size_t i = 0; i < grades; i++) {
        uint64_t start = io_now();
        json_auto_t *result = grade("vector_add", source, true);
        walls[i] = (double)(io_now() - start) * 1e-6;
        for (size_t s = 0; s < n_steps; s++)
            steps[s].values[i] =
                json_number_value(json_object_get(json_object_get(result, "steps"), steps[s].name));
    }
    double whole = quantile(walls, grades, 0.5);
    printf("%zu warm grades of vector_add in a row; ms\n", grades);
    printf("%-16s %9s %9s %8s\n", "step", "p50", "p90", "share");
    for (size_t s = 0; s < n_steps; s++) {
        double middle = quantile(steps[s].values, grades, 0.5);
        printf("%-16s %9.1f %9.1f %7.1f%%\n", steps[s].name, middle,
               quantile(steps[s].values, grades, 0.9), 100 * middle / whole);
        free(steps[s].values);
    }
    printf("%-16s %9.1f %9.1f\n", "wall", whole, quantile(walls, grades, 0.9));
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(size_t n);
        size_t n;
    } benches[] = {
        {"invariance", invariance, 5}, {"aa", against_itself, 10}, {"grade_cost", grade_cost, 100}};
    const kgrade_options options = {.prefix = KGRADE_BUILD_DIR, .allow_reduced = true};
    for (size_t i = 0; argc > 1 && i < sizeof benches / sizeof benches[0]; i++) {
        if (strcmp(argv[1], benches[i].name))
            continue;
        size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : benches[i].n;
        kgrade_error error;
        if (n < 1 || n > 100000)
            break;
        if (kgrade_open(&options, &engine, &error))
            die(&error);
        int status = benches[i].run(n);
        kgrade_close(engine);
        return status;
    }
    fprintf(stderr, "usage: kgrade-bench invariance|aa|grade_cost [TIMES]\n");
    return 2;
}
