/* A case of this suite: a folder with candidate.c and expect.json. */
#ifndef ATTACKS_CANDIDATE_H
#define ATTACKS_CANDIDATE_H

#include <jansson.h>
#include <stdbool.h>

/* The source that is graded: folder/file with honest.h, or honest.h and attack.h of this suite, in place of its #include of
 * either, after `facts`.  Caller frees; NULL after a message on stderr. */
char *candidate_source(const char *folder, const char *file, const char *facts);

/* expect.json; see tests/attacks/README.md.  NULL after a message on stderr. */
json_t *candidate_expectation(const char *folder);

/* hack.json; see tests/hacks/README.md.  The same. */
json_t *candidate_hack(const char *folder);

/* object[key] as text; "" when it is none. */
const char *candidate_text(const json_t *object, const char *key);

/* Whether `value` is the string `single` or in the list `many`; true when neither is there. */
bool candidate_is_one_of(const char *value, const json_t *single, const json_t *many);

#endif
