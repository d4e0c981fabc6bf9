/* Grading inside a program of one's own: embed PREFIX TASK SOURCE prints the verdict and the score.
 */
#include <kgrade/kgrade.h>
#include <stdio.h>
#include <string.h>

static int complain(const kgrade_error *error)
{
    fprintf(stderr, "%s\n%s\n", error->message, error->hint);
    return 3;
}

int main(int argc, char **argv)
{
    static char source[KGRADE_MAX_SOURCE_BYTES];
    if (argc != 4)
        return 2;
    FILE *file = fopen(argv[3], "r");
    if (!file)
        return 2;
    size_t size = fread(source, 1, sizeof source, file);
    fclose(file);

    kgrade_error error;
    kgrade *engine;
    kgrade_options options = {.prefix = argv[1], .allow_reduced = true, .max_seconds = 0.5};
    if (kgrade_open(&options, &engine, &error))
        return complain(&error);

    kgrade_request request = {
        .task = argv[2], .device = "opencl", .source = source, .source_size = size};
    kgrade_result *result;
    int failed = kgrade_grade(engine, &request, NULL, NULL, &result, &error);
    if (!failed) {
        printf("%s %.3f\n", kgrade_verdict_name(kgrade_result_verdict(result)),
               kgrade_result_score(result));
        failed = kgrade_result_verdict(result) != KGRADE_ACCEPTED;
        kgrade_result_free(result);
    } else {
        complain(&error);
    }
    kgrade_close(engine);
    return failed ? 1 : 0;
}
