#define _GNU_SOURCE
#include <stdbool.h>

#include "../../../sandbox/base/fail.h"
#include "../../cli/report/html.h"
#include "../../cli/report/sections.h"
#include "gather.h"
#include "report.h"

/* The policy is a second wall: were there a hole in the escaping, a browser would still load and run nothing. */
static void write_head(FILE *out, const struct board *b)
{
    fputs("<!DOCTYPE html>\n"
          "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
          "<meta charset=\"utf-8\"/>\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<meta name=\"referrer\" content=\"no-referrer\"/>\n"
          "<title>Regraded: ",
          out);
    for (size_t i = 0; i < b->n_sources && i < 3; i++) {
        fputs(i ? ", " : "", out);
        board_write_name(out, b->sources[i].title);
    }
    fputs(b->n_sources > 3 ? ", …" : "", out);
    fprintf(out, "</title>\n<style>\n%s%s</style>\n</head>\n", report_style, board_style);
}

static int write_sections(FILE *out, struct board *b, kgrade_error *err)
{
    board_headline(out, b);
    if (board_runs(out, b))
        return board_no_memory(err);
    board_list(out, b);
    board_places(out, b);
    board_gains(out, b);
    board_rejected(out, b);
    if (board_then_now(out, b) || board_host(out, b) || board_recorded(out, b))
        return board_no_memory(err);
    if (board_details(out, b, err))
        return -1;
    board_skips(out, b);
    board_method(out, b);
    return 0;
}

static int write_page(FILE *out, struct board *b, kgrade_error *err)
{
    write_head(out, b);
    fputs("<body>\n<main>\n", out);
    if (write_sections(out, b, err))
        return -1;
    fputs("<footer>Written by kgrade ", out);
    html_text(out, kgrade_version());
    fputs(". This page loads nothing and runs nothing. The figures of all entries are in "
          "results.csv, whole results in results.jsonl.</footer>\n</main>\n</body>\n</html>\n",
          out);
    if (ferror(out))
        return fail_errno(err, "report_failed", "Is there room on the disk?",
                          "The page could not be written");
    return 0;
}

int regrade_report_html(const struct regrade_store *store, FILE *out, kgrade_error *err)
{
    struct board board;
    int status = board_gather(store, &board, err);
    if (!status)
        status = write_page(out, &board, err);
    board_free(&board);
    return status;
}
