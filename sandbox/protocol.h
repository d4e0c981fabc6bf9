/*
 * What client and spawner say to each other.
 *
 * A request is one SOCK_SEQPACKET message: a fixed header, the flags of each bind, then
 * NUL-terminated strings (arguments, environment, working folder, source and target of each bind).
 * Descriptors travel with it: the leash, then standard input, output and error as far as they are
 * given, then the extra ones. The answer is one `protocol_status` on the leash, sent when
 * everything in the jail is dead.
 *
 * Both directions are checked by pure functions without side effects.
 */
#ifndef KGRADE_SANDBOX_PROTOCOL_H
#define KGRADE_SANDBOX_PROTOCOL_H

#include "base/io.h"
#include "sandbox.h"

#define PROTOCOL_SOCKET 3 /* the spawner's end of the request socket */
#define PROTOCOL_MAX_BYTES 131072u
#define PROTOCOL_MAX_PATH 4095u
#define PROTOCOL_MAX_ENV 128u
#define PROTOCOL_MAX_WALL_NS (24ull * 3600 * IO_NS_PER_S)
#define PROTOCOL_MAX_TMP_BYTES (1ull << 40)
#define PROTOCOL_MAX_TOTAL_BYTES (1ull << 50)
#define PROTOCOL_MAX_CPU_PERCENT 1000000u
#define PROTOCOL_MAX_PROCESSES 1000000u
#define PROTOCOL_MAX_OPEN_FILES 1000000u
/* The leash, three standard descriptors, extra ones. */
#define PROTOCOL_MAX_PASSED (4u + JAIL_MAX_FDS)

/* A request as the spawner sees it.  `spec` points into this struct and into the parsed buffer, so
 * neither may move while it is used.  The descriptors of `spec` are set by protocol_take_fds. */
struct protocol_request {
    struct jail_spec spec;
    const char *argv[JAIL_MAX_ARGS + 1];
    const char *env[PROTOCOL_MAX_ENV + 1];
    struct jail_bind binds[JAIL_MAX_BINDS];
    int fds[JAIL_MAX_FDS];
    bool has_standard[3];
};

struct protocol_status {
    uint32_t magic;
    uint32_t size;
    struct jail_status status;
};

struct protocol_hello { /* the spawner's first message */
    uint32_t magic;
    uint32_t ready;
    kgrade_error error; /* when not ready */
};

#define PROTOCOL_STATUS_MAGIC 0x6b677374u
#define PROTOCOL_HELLO_MAGIC 0x6b676869u

/* Writes spec as one message.  Error: `jail_invalid`, for everything that is out of bounds. */
int protocol_encode(const struct jail_spec *spec, struct bytes *ret, kgrade_error *err);

/* Reads one message that came with n_passed descriptors.  Error: `jail_invalid`. */
int protocol_parse(const void *data, size_t size, size_t n_passed, struct protocol_request *ret,
                   kgrade_error *err);

/* Puts the n_passed descriptors that protocol_parse was told about into ret->spec. */
void protocol_take_fds(struct protocol_request *request, const int *passed);

/* Checks a status message.  Error: `spawner_failed`. */
int protocol_read_status(const void *data, size_t size, struct jail_status *ret, kgrade_error *err);

#endif
