#include "protocol.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fail.h"

#define REQUEST_MAGIC 0x6b677271u

enum { BIND_WRITABLE = 1, BIND_OPTIONAL = 2, BIND_DEVICE = 4, BIND_ALL = 7 };

struct header {
    uint32_t magic;
    uint32_t policy;
    uint32_t standard; /* bit n: descriptor n is given */
    uint32_t n_fds;
    uint32_t n_args;
    uint32_t n_env;
    uint32_t n_binds;
    uint32_t string_bytes;
    struct jail_limits limits;
};

static int invalid(kgrade_error *err, const char *what)
{
    return fail(err, "jail_invalid", NULL, "The request for a jail is not valid: %s.", what);
}

/* Encoding */

struct writer {
    uint8_t *data;
    size_t used;
    bool full;
};

static void put(struct writer *w, const void *data, size_t n)
{
    if (n > PROTOCOL_MAX_BYTES - w->used) {
        w->full = true;
        return;
    }
    memcpy(w->data + w->used, data, n);
    w->used += n;
}

static void put_string(struct writer *w, const char *s)
{
    put(w, s, strlen(s) + 1);
}

static size_t count(const char *const *list, size_t limit)
{
    size_t n = 0;
    while (n <= limit && list && list[n])
        n++;
    return n;
}

int protocol_encode(const struct jail_spec *spec, struct bytes *ret, kgrade_error *err)
{
    struct header h = {.magic = REQUEST_MAGIC,
                       .policy = (uint32_t)spec->policy,
                       .standard = (spec->stdin_fd >= 0 ? 1u : 0u) |
                                   (spec->stdout_fd >= 0 ? 2u : 0u) |
                                   (spec->stderr_fd >= 0 ? 4u : 0u),
                       .limits = spec->limits};
    size_t n_args = count(spec->argv, JAIL_MAX_ARGS);
    size_t n_env = count(spec->env, PROTOCOL_MAX_ENV);
    if (n_args > JAIL_MAX_ARGS)
        return invalid(err, "too many arguments");
    if (n_env > PROTOCOL_MAX_ENV)
        return invalid(err, "too many environment variables");
    if (spec->n_binds > JAIL_MAX_BINDS)
        return invalid(err, "too many binds");
    if (spec->n_fds > JAIL_MAX_FDS)
        return invalid(err, "too many descriptors");
    if (!spec->workdir)
        return invalid(err, "the working folder is missing");
    h.n_args = (uint32_t)n_args;
    h.n_env = (uint32_t)n_env;
    h.n_binds = (uint32_t)spec->n_binds;
    h.n_fds = (uint32_t)spec->n_fds;

    cleanup_free uint8_t *data = malloc(PROTOCOL_MAX_BYTES);
    if (!data)
        return fail(err, "out_of_memory", NULL, "No memory for a request to the sandbox.");
    struct writer w = {.data = data};
    put(&w, &h, sizeof h);
    for (size_t i = 0; i < spec->n_binds; i++) {
        const struct jail_bind *b = &spec->binds[i];
        uint32_t flags = (b->writable ? BIND_WRITABLE : 0u) | (b->optional ? BIND_OPTIONAL : 0u) |
                         (b->device ? BIND_DEVICE : 0u);
        put(&w, &flags, sizeof flags);
    }
    size_t strings = w.used;
    for (size_t i = 0; i < n_args; i++)
        put_string(&w, spec->argv[i]);
    for (size_t i = 0; i < n_env; i++)
        put_string(&w, spec->env[i]);
    put_string(&w, spec->workdir);
    for (size_t i = 0; i < spec->n_binds; i++) {
        const struct jail_bind *b = &spec->binds[i];
        if (!b->source)
            return invalid(err, "a bind has no source");
        put_string(&w, b->source);
        put_string(&w, b->target ? b->target : b->source);
    }
    if (w.full)
        return invalid(err, "its arguments, environment and paths are too long together");
    h.string_bytes = (uint32_t)(w.used - strings);
    memcpy(data, &h, sizeof h);
    ret->data = steal_pointer(&data);
    ret->size = w.used;
    return 0;
}

/* Decoding */

struct reader {
    const char *at;
    const char *end;
};

static const char *next_string(struct reader *r)
{
    const char *s = r->at;
    const char *nul = s < r->end ? memchr(s, 0, (size_t)(r->end - s)) : NULL;
    if (!nul)
        return NULL;
    r->at = nul + 1;
    return s;
}

/* Absolute, short enough, and without "..", which could leave the folder that a check was made for.
 */
static bool is_path(const char *s)
{
    if (!s || s[0] != '/' || strlen(s) > PROTOCOL_MAX_PATH)
        return false;
    for (const char *p = s; (p = strstr(p, "/..")); p += 3)
        if (p[3] == 0 || p[3] == '/')
            return false;
    return true;
}

static int check_header(const struct header *h, size_t n_passed, kgrade_error *err)
{
    if (h->magic != REQUEST_MAGIC)
        return invalid(err, "it is not a request");
    if (h->policy > JAIL_JUDGE)
        return invalid(err, "the policy is unknown");
    if (h->n_args == 0 || h->n_args > JAIL_MAX_ARGS)
        return invalid(err, "the number of arguments is out of bounds");
    if (h->n_env > PROTOCOL_MAX_ENV)
        return invalid(err, "the number of environment variables is out of bounds");
    if (h->n_binds > JAIL_MAX_BINDS)
        return invalid(err, "the number of binds is out of bounds");
    if (h->n_fds > JAIL_MAX_FDS || h->standard > 7)
        return invalid(err, "the number of descriptors is out of bounds");
    size_t wanted = 1 + h->n_fds;
    for (unsigned bit = 0; bit < 3; bit++)
        wanted += h->standard >> bit & 1;
    if (wanted != n_passed)
        return invalid(err, "the number of descriptors is not the announced one");
    const struct jail_limits *l = &h->limits;
    if (l->wall_ns == 0 || l->wall_ns > PROTOCOL_MAX_WALL_NS)
        return invalid(err, "limits.wall_ns is 0 or above 24 hours");
    if (l->tmp_bytes == 0 || l->tmp_bytes > PROTOCOL_MAX_TMP_BYTES)
        return invalid(err, "limits.tmp_bytes is 0 or above 1 TiB");
    if (l->memory_total_bytes > PROTOCOL_MAX_TOTAL_BYTES)
        return invalid(err, "limits.memory_total_bytes is above 1 PiB");
    if (l->cpu_percent > PROTOCOL_MAX_CPU_PERCENT)
        return invalid(err, "limits.cpu_percent is above 1000000");
    if (l->processes == 0 || l->processes > PROTOCOL_MAX_PROCESSES)
        return invalid(err, "limits.processes is 0 or above 1000000");
    if (l->open_files < 3 || l->open_files > PROTOCOL_MAX_OPEN_FILES)
        return invalid(err, "limits.open_files is below 3 or above 1000000");
    return 0;
}

static int read_strings(struct reader *r, const struct header *h, struct protocol_request *q,
                        kgrade_error *err)
{
    for (uint32_t i = 0; i < h->n_args; i++)
        if (!(q->argv[i] = next_string(r)))
            return invalid(err, "an argument is missing");
    if (!is_path(q->argv[0]))
        return invalid(err, "the program is not an absolute path");
    for (uint32_t i = 0; i < h->n_env; i++) {
        q->env[i] = next_string(r);
        if (!q->env[i] || !strchr(q->env[i], '=') || q->env[i][0] == '=')
            return invalid(err, "an environment variable is not NAME=VALUE");
    }
    q->spec.workdir = next_string(r);
    if (!is_path(q->spec.workdir))
        return invalid(err, "the working folder is not an absolute path");
    for (uint32_t i = 0; i < h->n_binds; i++) {
        q->binds[i].source = next_string(r);
        q->binds[i].target = next_string(r);
        if (!is_path(q->binds[i].source) || !is_path(q->binds[i].target))
            return invalid(err, "a bind is not made of absolute paths without \"..\"");
        if (strspn(q->binds[i].target, "/.") == strlen(q->binds[i].target))
            return invalid(err, "a bind would cover the root");
    }
    if (r->at != r->end)
        return invalid(err, "it has bytes left over");
    return 0;
}

int protocol_parse(const void *data, size_t size, size_t n_passed, struct protocol_request *ret,
                   kgrade_error *err)
{
    struct header h;
    if (size < sizeof h || size > PROTOCOL_MAX_BYTES)
        return invalid(err, "its size is out of bounds");
    memcpy(&h, data, sizeof h);
    if (check_header(&h, n_passed, err))
        return -1;
    size_t flags_at = sizeof h;
    size_t strings_at = flags_at + h.n_binds * sizeof(uint32_t);
    if (size < strings_at || size - strings_at != h.string_bytes)
        return invalid(err, "its size is not the announced one");

    memset(ret, 0, sizeof *ret);
    struct jail_spec *spec = &ret->spec;
    switch (h.policy) {
    case JAIL_BUILD:
        spec->policy = JAIL_BUILD;
        break;
    case JAIL_RECORD:
        spec->policy = JAIL_RECORD;
        break;
    case JAIL_REPLAY:
        spec->policy = JAIL_REPLAY;
        break;
    default:
        spec->policy = JAIL_JUDGE;
        break;
    }
    spec->limits = h.limits;
    spec->argv = ret->argv;
    spec->env = ret->env;
    spec->binds = ret->binds;
    spec->n_binds = h.n_binds;
    spec->fds = ret->fds;
    spec->n_fds = h.n_fds;
    spec->stdin_fd = spec->stdout_fd = spec->stderr_fd = -1;
    for (unsigned i = 0; i < 3; i++)
        ret->has_standard[i] = h.standard >> i & 1;
    for (uint32_t i = 0; i < h.n_binds; i++) {
        uint32_t flags;
        memcpy(&flags, (const uint8_t *)data + flags_at + i * sizeof flags, sizeof flags);
        if (flags & ~(uint32_t)BIND_ALL)
            return invalid(err, "a bind has unknown flags");
        ret->binds[i].writable = flags & BIND_WRITABLE;
        ret->binds[i].optional = flags & BIND_OPTIONAL;
        ret->binds[i].device = flags & BIND_DEVICE;
    }
    const char *strings = (const char *)data + strings_at;
    struct reader r = {.at = strings, .end = strings + h.string_bytes};
    return read_strings(&r, &h, ret, err);
}

void protocol_take_fds(struct protocol_request *request, const int *passed)
{
    size_t at = 1; /* the leash is first */
    int *standard[] = {&request->spec.stdin_fd, &request->spec.stdout_fd, &request->spec.stderr_fd};
    for (size_t i = 0; i < 3; i++)
        if (request->has_standard[i])
            *standard[i] = passed[at++];
    for (size_t i = 0; i < request->spec.n_fds; i++)
        request->fds[i] = passed[at++];
}

int protocol_read_status(const void *data, size_t size, struct jail_status *ret, kgrade_error *err)
{
    struct protocol_status message;
    unsigned char flag = 2;
    bool known = size == sizeof message;
    if (known) {
        memcpy(&message, data, sizeof message);
        memcpy(&flag, &message.status.out_of_memory, sizeof flag); /* may be no bool yet */
        known = message.magic == PROTOCOL_STATUS_MAGIC && message.size == sizeof message &&
                (unsigned)message.status.end <= JAIL_NOT_STARTED && flag <= 1;
    }
    if (!known)
        return fail(err, "spawner_failed", "Client and spawner must come from the same build.",
                    "The spawner answered something that is not a status.");
    kgrade_error *e = &message.status.error;
    e->code[sizeof e->code - 1] = 0;
    e->message[sizeof e->message - 1] = 0;
    e->hint[sizeof e->hint - 1] = 0;
    *ret = message.status;
    return 0;
}
