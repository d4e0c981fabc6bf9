/* Answers: each function queues one for the request and returns what the library wants to hear. */
#ifndef KGRADED_ANSWER_H
#define KGRADED_ANSWER_H

#include <jansson.h>
#include <stddef.h>

#include "request.h"

#define ANSWER_JSON "application/json"

/* Takes over text, which may be NULL for want of memory. */
enum MHD_Result answer_text(struct request *r, unsigned status, const char *type, char *text);

/* The same for text that stays where it is. */
enum MHD_Result answer_static(struct request *r, unsigned status, const char *type,
                              const void *text, size_t size);

/* Takes over json, which may be NULL for want of memory. */
enum MHD_Result answer_json(struct request *r, unsigned status, json_t *json);

/* The problem that the code stands for. */
enum MHD_Result answer_problem(struct request *r, const kgrade_error *problem);

/* An answer in pieces, whose end is not known.  reader as the library has it; its argument is r. */
enum MHD_Result answer_stream(struct request *r, const char *type,
                              MHD_ContentReaderCallback reader);

/* The HTTP thread has no memory for more. */
int answer_no_memory(kgrade_error *err);

#endif
