/* `kgrade regrade report`: what was found, into the folder that it was found in. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../regrade/export.h"
#include "../regrade/report/report.h"
#include "regrade.h"

typedef int writer(const struct regrade_store *store, FILE *file, kgrade_error *err);

static const struct {
    const char *name;
    writer *write;
} outputs[] = {
    {"report.html", regrade_report_html},
    {"results.jsonl", regrade_export_jsonl},
    {"results.csv", regrade_report_csv},
};
#define N_OUTPUTS (sizeof outputs / sizeof outputs[0])

/* A file is there whole or as it was before. */
static int write_file(const struct regrade_store *store, const char *path, writer *write,
                      kgrade_error *err)
{
    cleanup_free char *partial = NULL;
    if (asprintf(&partial, "%s.partial", path) < 0) {
        partial = NULL; /* which is undefined now */
        return fail(err, "out_of_memory", NULL, "There is no memory for a path.");
    }
    FILE *file = fopen(partial, "we");
    if (!file)
        return fail_errno(err, "file_unwritable",
                          "The report is written into the folder of the regrade; where that must "
                          "not change, copy it.",
                          "Cannot create %s", partial);
    int rc = write(store, file, err);
    bool broken = ferror(file) || fflush(file) || fsync(fileno(file));
    int cause = errno;
    fclose(file);
    errno = cause;
    if (!rc && broken)
        rc = fail_errno(err, "file_unwritable", "Is there space on the disk?", "Cannot write %s",
                        partial);
    if (!rc && rename(partial, path))
        rc = fail_errno(err, "file_unwritable", NULL, "Cannot create %s", path);
    if (rc)
        unlink(partial);
    return rc;
}

static int write_all(const struct regrade_store *store, char *paths[N_OUTPUTS], kgrade_error *err)
{
    for (size_t i = 0; i < N_OUTPUTS; i++)
        if (write_file(store, paths[i], outputs[i].write, err))
            return -1;
    return 0;
}

static void tell(const struct cli *cli, char *const paths[N_OUTPUTS])
{
    if (!cli->json) {
        for (size_t i = 0; i < N_OUTPUTS; i++)
            printf("Wrote %s\n", paths[i]);
        return;
    }
    json_auto_t *files = json_array();
    for (size_t i = 0; i < N_OUTPUTS; i++)
        json_array_append_new(files, json_string(paths[i]));
    json_auto_t *report = json_pack("{s:O}", "files", files);
    json_dumpf(report, stdout, JSON_INDENT(2));
    putchar('\n');
}

enum cli_exit command_regrade_report(const struct cli *cli)
{
    const char *folder = cli->arguments[0];
    kgrade_error error;
    cleanup_regrade_store struct regrade_store *store = NULL;
    if (regrade_store_open_reader(folder, &store, &error)) {
        cli_print_error(&error);
        return strcmp(error.code, "no_regrade") ? CLI_INFRASTRUCTURE : CLI_USAGE;
    }
    char *paths[N_OUTPUTS] = {0};
    int rc = 0;
    for (size_t i = 0; i < N_OUTPUTS && !rc; i++)
        if (asprintf(&paths[i], "%s/%s", folder, outputs[i].name) < 0) {
            paths[i] = NULL; /* which is undefined now */
            rc = fail(&error, "out_of_memory", NULL, "There is no memory for a path.");
        }
    rc = rc ? rc : write_all(store, paths, &error);
    if (!rc)
        tell(cli, paths);
    else
        cli_print_error(&error);
    for (size_t i = 0; i < N_OUTPUTS; i++)
        free(paths[i]);
    return rc ? CLI_INFRASTRUCTURE : CLI_ACCEPTED;
}
