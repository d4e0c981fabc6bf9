#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../view.h"
#include "html.h"
#include "report.h"
#include "sections.h"

static void write_title(FILE *out, const json_t *result)
{
    const char *verdict = view_string(result, "verdict"), *task = view_string(result, "task.name");
    fputs("<title>", out);
    html_text(out, task ? task : "kgrade");
    fputs(": ", out);
    html_text(out, verdict ? verdict : "no verdict");
    fputs("</title>\n", out);
}

/* The policy is a second wall: were there a hole in the escaping, a browser would still load and run nothing. */
static void write_head(FILE *out, const json_t *result)
{
    fputs("<!DOCTYPE html>\n"
          "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
          "<meta charset=\"utf-8\"/>\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<meta name=\"referrer\" content=\"no-referrer\"/>\n",
          out);
    write_title(out, result);
    fprintf(out, "<style>\n%s</style>\n</head>\n", report_style);
}

static void write_body(FILE *out, const json_t *result, const json_t *recording)
{
    fputs("<body>\n<main>\n", out);
    section_verdict(out, result);
    section_mistakes(out, result);
    section_cases(out, result);
    section_host(out, result);
    section_ranges(out, result);
    section_graph(out, result, recording);
    section_facts(out, result);
    fputs("<footer>", out);
    const char *version = view_string(result, "environment.kgrade");
    fputs("Written by kgrade", out);
    if (version) {
        fputs(" from a grade by version ", out);
        html_text(out, version);
    }
    fputs(". This page loads nothing and runs nothing.</footer>\n</main>\n</body>\n</html>\n", out);
}

char *report_page(const json_t *result, const json_t *recording)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    write_head(out, result);
    write_body(out, result, recording);
    bool failed = ferror(out) != 0;
    if (fclose(out) || failed) {
        free(text);
        return NULL;
    }
    return text;
}

static int fail_exists(const char *path, kgrade_error *error)
{
    return fail(error, "file_exists", "Choose another name, or remove the file first.",
                "%s exists and is not overwritten.", path);
}

int report_check(const char *path, kgrade_error *error)
{
    if (!faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW))
        return fail_exists(path, error);
    cleanup_free char *copy = strdup(path);
    if (!copy)
        return fail(error, "out_of_memory", NULL, "No memory for the name of a file.");
    if (access(dirname(copy), W_OK))
        return fail_errno(error, "file_unwritable", NULL, "Cannot create %s", path);
    return 0;
}

int report_write(const char *path, const json_t *result, const json_t *recording,
                 kgrade_error *error)
{
    cleanup_free char *page = report_page(result, recording);
    if (!page)
        return fail(error, "out_of_memory", NULL, "No memory for the report.");
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 && errno == EEXIST)
        return fail_exists(path, error);
    if (fd < 0)
        return fail_errno(error, "file_unwritable", NULL, "Cannot create %s", path);
    size_t size = strlen(page), done = 0;
    while (done < size) {
        ssize_t k = write(fd, page + done, size - done);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0) {
            fail_errno(error, "file_unwritable", NULL, "Cannot write %s", path);
            unlink(path);
            return -1;
        }
        done += (size_t)k;
    }
    return 0;
}
