/*
 * What a thread did, in the order in which it did it: pairs of time stamp and event.  The collector (in the candidate's
 * process) writes it, spans.c (in the grader) rebuilds the nesting from it.  Little endian, as in memory.
 */
#ifndef KGRADE_PROFILE_LOG_H
#define KGRADE_PROFILE_LOG_H

#include <stdint.h>

enum log_kind {
    LOG_PUSH,  /* a range begins on this thread's stack of the domain */
    LOG_POP,   /* the innermost one of the domain ends */
    LOG_START, /* a range begins that is ended by its number */
    LOG_END,
};

#define LOG_MAX_DOMAINS 256u
#define LOG_MAX_NAMES 1024u
#define LOG_MAX_NAME 96u /* bytes, with the NUL; what is longer is cut */

/* Domains that candidates do not get. */
#define LOG_DOMAIN_DEFAULT 0u
#define LOG_DOMAIN_API 254u    /* a call of the device's API */
#define LOG_DOMAIN_GRADER 255u /* the call of the entry point */

struct log_event {
    uint64_t ticks;
    uint64_t what; /* kind 2 bits, domain 8 bits, name 16 bits, number of the range 38 bits */
};

static inline uint64_t log_pack(enum log_kind kind, unsigned domain, unsigned name, uint64_t number)
{
    return (uint64_t)kind | (uint64_t)(domain & 0xff) << 2 | (uint64_t)(name & 0xffff) << 10 |
           number << 26;
}

/* A thread has ended; another one goes on in its log.  No range has the number 0. */
#define LOG_THREAD_ENDED log_pack(LOG_END, LOG_DOMAIN_GRADER, 0, 0)

static inline enum log_kind log_kind_of(const struct log_event *e)
{
    return (enum log_kind)(e->what & 3);
}

static inline unsigned log_domain(const struct log_event *e)
{
    return (unsigned)(e->what >> 2 & 0xff);
}

static inline unsigned log_name(const struct log_event *e)
{
    return (unsigned)(e->what >> 10 & 0xffff);
}

static inline uint64_t log_number(const struct log_event *e)
{
    return e->what >> 26;
}

#endif
