/* A case of this suite: a folder with candidate.c and expect.json. */
#ifndef HOSTILE_CANDIDATE_H
#define HOSTILE_CANDIDATE_H

#include <jansson.h>

/* Facts of a run that candidates are told: baits that they must not reach. */
struct bait {
    char secret[65];       /* never to be seen in a result */
    char secret_file[256]; /* 0600, holds the secret */
    char socket_file[100];
    char abstract_name[64];
    int port;       /* TCP, loopback */
    int sockets[3]; /* listening */
};

/* Makes the secret and the sockets; puts the secret into the environment as KGRADE_TEST_SECRET.
 * Exits on failure. */
void bait_lay(struct bait *bait, const char *folder);

/* Whether somebody has connected. */
int bait_taken(const struct bait *bait);
void bait_remove(struct bait *bait);

/* The source that is graded: candidate.c with honest.h in place of its #include, after the facts as
 * macros. `tasks` is the folder of tasks.  Caller frees; NULL after a message on stderr. */
char *candidate_source(const char *folder, const char *tasks, const struct bait *bait);

/* expect.json; see tests/README.md.  NULL after a message on stderr. */
json_t *candidate_expectation(const char *folder);

#endif
