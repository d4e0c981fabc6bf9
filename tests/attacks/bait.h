/* What a grade must not reach: secrets and sockets of the machine, laid out before the first one. */
#ifndef ATTACKS_BAIT_H
#define ATTACKS_BAIT_H

#include <stdbool.h>
#include <stddef.h>

#define BAIT_SOCKETS 5

/* The two secrets are different random texts.  What can be read from a file is the first of them. */
struct bait {
    char secret[65];    /* never to be seen in a result */
    char reference[65]; /* part of every task's reference; never to be seen by a candidate */
    char folder[128];
    char secret_file[192]; /* for its owner only */
    char neighbour[192];   /* the source of another grade; readable for everyone */
    char cached[320];      /* a file of the engine's cache; the same */
    char socket_file[100];
    char shared[64];        /* shared memory, with the leading slash; readable for everyone */
    char abstract_name[64]; /* without the leading zero */
    char planted[64];       /* how candidates call what they leave behind */
    int planted_key;        /* the same for System V */
    int port;               /* TCP and UDP, loopback, IPv4 and IPv6 */
    int sockets[BAIT_SOCKETS];
};

/* Everything below `folder`, which exists, but for one file in `cache`, one in /dev/shm and the environment variable
 * KGRADE_TEST_SECRET.  Exits on failure. */
void bait_lay(struct bait *bait, const char *folder, const char *cache);

/* Whether somebody has connected or sent something. */
bool bait_taken(const struct bait *bait);
void bait_remove(struct bait *bait);

/* The facts as macros for a candidate.  The secrets are masked: a candidate that looks for one in memory must not find
 * its own copy.  `tasks` is the folder of tasks.  Caller frees; NULL when memory runs out. */
char *bait_facts(const struct bait *bait, const char *tasks);

#endif
