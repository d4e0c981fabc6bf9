/*
 * A result as one page of HTML, for people.
 *
 * The page needs nothing but itself: no script, no font, no picture from elsewhere.  It is well-formed XML, as wide as the
 * screen, light or dark as the reader has it.  Everything in a result and a recording counts as written by others.
 */
#ifndef KGRADE_CLI_REPORT_H
#define KGRADE_CLI_REPORT_H

#include <jansson.h>

#include "kgrade/error.h"

/* Limits on what is drawn of a recording; what is left out is counted. */
#define REPORT_MAX_CALLS 32u
#define REPORT_MAX_NODES 64u  /* of a call */
#define REPORT_MAX_EDGES 8u   /* into a node */
#define REPORT_MAX_NAME 400u  /* characters of a kernel's name */
#define REPORT_MAX_CASES 128u /* that have plots of their own */

/* Whether a page can be made there: a new file in a folder that can be written.  -1 with `file_exists` or
 * `file_unwritable`. */
int report_check(const char *path, kgrade_error *error);

/* The page; the caller frees it, NULL: no memory.  result: of schema kgrade.grade/1.  recording: what
 * kgrade_recording_show says as JSON, or NULL: there is none. */
char *report_page(const json_t *result, const json_t *recording);

/* Writes the page to a file that must not exist yet; nothing is left of it after an error. */
int report_write(const char *path, const json_t *result, const json_t *recording,
                 kgrade_error *error);

#endif
