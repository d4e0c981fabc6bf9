/*
 * What the spawner reads from its client, and what the client reads from the spawner.
 *
 * The first byte says how the others are meant: as a message and how many descriptors came with it; as a recipe for a
 * request, which must survive encoding and parsing; as a recipe whose encoding is then damaged; as a status.  What the
 * parser takes must be inside all limits and must be encoded to the very same bytes.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include "sandbox/protocol.h"

#define FIRST_FD 100
#define MAX_TEXT 64

static void check_path(const char *path)
{
    require(path && path[0] == '/' && strlen(path) <= PROTOCOL_MAX_PATH);
    size_t n = strlen(path);
    require(!strstr(path, "/../") && !(n >= 3 && !strcmp(path + n - 3, "/..")));
}

static void check_limits(const struct jail_spec *spec)
{
    size_t n = 0;
    check_path(spec->argv[0]);
    while (spec->argv[n])
        n++;
    require(n <= JAIL_MAX_ARGS);
    for (n = 0; spec->env[n]; n++)
        require(strchr(spec->env[n], '=') > spec->env[n]);
    require(n <= PROTOCOL_MAX_ENV);
    check_path(spec->workdir);
    require(spec->n_binds <= JAIL_MAX_BINDS && spec->n_fds <= JAIL_MAX_FDS);
    for (size_t i = 0; i < spec->n_binds; i++) {
        check_path(spec->binds[i].source);
        check_path(spec->binds[i].target);
        require(strcmp(spec->binds[i].target, "/") != 0);
    }
    const struct jail_limits *l = &spec->limits;
    require(l->wall_ns > 0 && l->wall_ns <= PROTOCOL_MAX_WALL_NS);
    require(l->tmp_bytes > 0 && l->tmp_bytes <= PROTOCOL_MAX_TMP_BYTES);
    require(l->processes > 0 && l->processes <= PROTOCOL_MAX_PROCESSES);
    require(l->open_files >= 3 && l->open_files <= PROTOCOL_MAX_OPEN_FILES);
}

/* Each descriptor is used once, in order, and the leash (the first) not at all. */
static void check_fds(const struct jail_spec *spec, size_t n_passed)
{
    const int standard[] = {spec->stdin_fd, spec->stdout_fd, spec->stderr_fd};
    int next = FIRST_FD + 1;
    for (size_t i = 0; i < 3; i++)
        if (standard[i] != -1)
            require(standard[i] == next++);
    for (size_t i = 0; i < spec->n_fds; i++)
        require(spec->fds[i] == next++);
    require(next == FIRST_FD + (int)n_passed);
}

/* Whether it was taken. */
static bool try_message(const uint8_t *data, size_t size, size_t n_passed)
{
    static struct protocol_request request;
    kgrade_error err = {.code = ""};
    if (protocol_parse(data, size, n_passed, &request, &err)) {
        require(!strcmp(err.code, "jail_invalid") && err.message[0]);
        return false;
    }
    require(n_passed >= 1 && n_passed <= PROTOCOL_MAX_PASSED);
    int passed[PROTOCOL_MAX_PASSED];
    for (size_t i = 0; i < n_passed; i++)
        passed[i] = FIRST_FD + (int)i;
    protocol_take_fds(&request, passed);
    check_limits(&request.spec);
    check_fds(&request.spec, n_passed);

    cleanup_bytes struct bytes again = {0};
    require(protocol_encode(&request.spec, &again, &err) == 0);
    require(again.size == size && !memcmp(again.data, data, size));
    return true;
}

/* Text out of the input; a path gets its slash.  `room` is what all texts of a recipe share. */
static const char *text(struct input *in, bool path, char **room)
{
    char *start = *room, *to = start;
    size_t n = input_below(in, MAX_TEXT);
    if (path)
        *to++ = '/';
    for (size_t i = 0; i < n && in->left; i++) {
        char c = (char)input_byte(in);
        if (c)
            *to++ = c;
    }
    *to++ = 0;
    *room = to;
    return start;
}

#define MAX_TEXTS (JAIL_MAX_ARGS + PROTOCOL_MAX_ENV + 2 * JAIL_MAX_BINDS + 1)

/* A request as the input tells it: mostly a good one. */
struct recipe {
    struct jail_spec spec;
    const char *argv[JAIL_MAX_ARGS + 1], *env[PROTOCOL_MAX_ENV + 1];
    struct jail_bind binds[JAIL_MAX_BINDS];
    int fds[JAIL_MAX_FDS];
    char room[MAX_TEXTS * (MAX_TEXT + 2)];
};

static void follow(struct recipe *r, struct input *in)
{
    memset(r, 0, offsetof(struct recipe, room));
    char *room = r->room;
    struct jail_spec *s = &r->spec;
    unsigned flags = input_byte(in);
    s->policy = (enum jail_policy)(flags & 3);
    s->stdin_fd = flags & 4 ? 0 : -1;
    s->stdout_fd = flags & 8 ? 1 : -1;
    s->stderr_fd = flags & 16 ? 2 : -1;
    s->n_fds = input_below(in, JAIL_MAX_FDS + 1);
    s->fds = r->fds;
    uint64_t *limits = (uint64_t *)&s->limits;
    for (size_t i = 0; i < sizeof s->limits / sizeof *limits; i++)
        limits[i] = 3 + input_number(in, flags & 32 ? 8 : 2);
    size_t n_args = input_below(in, JAIL_MAX_ARGS + 1),
           n_env = input_below(in, PROTOCOL_MAX_ENV + 1);
    s->n_binds = input_below(in, JAIL_MAX_BINDS + 1);
    for (size_t i = 0; i < n_args; i++)
        r->argv[i] = text(in, i == 0, &room);
    for (size_t i = 0; i < n_env; i++)
        r->env[i] = text(in, false, &room);
    s->workdir = text(in, true, &room);
    for (size_t i = 0; i < s->n_binds; i++) {
        unsigned bind = input_byte(in);
        r->binds[i] =
            (struct jail_bind){.writable = bind & 1, .optional = bind & 2, .device = bind & 4};
        r->binds[i].source = text(in, true, &room);
        r->binds[i].target = bind & 8 ? NULL : text(in, true, &room);
    }
    s->argv = r->argv;
    s->env = r->env;
    s->binds = r->binds;
}

static void require_equal(const struct jail_spec *a, const struct jail_spec *b)
{
    size_t i;
    require(a->policy == b->policy && a->n_fds == b->n_fds && a->n_binds == b->n_binds);
    require(!memcmp(&a->limits, &b->limits, sizeof a->limits));
    for (i = 0; a->argv[i] && b->argv[i]; i++)
        require(!strcmp(a->argv[i], b->argv[i]));
    require(a->argv[i] == b->argv[i]);
    for (i = 0; a->env[i] && b->env[i]; i++)
        require(!strcmp(a->env[i], b->env[i]));
    require(a->env[i] == b->env[i] && !strcmp(a->workdir, b->workdir));
    for (i = 0; i < a->n_binds; i++) {
        const struct jail_bind *x = &a->binds[i], *y = &b->binds[i];
        require(x->writable == y->writable && x->optional == y->optional && x->device == y->device);
        require(!strcmp(x->source, y->source) &&
                !strcmp(x->target ? x->target : x->source, y->target));
    }
}

static size_t n_passed_of(const struct jail_spec *s)
{
    return 1 + (s->stdin_fd >= 0) + (s->stdout_fd >= 0) + (s->stderr_fd >= 0) + s->n_fds;
}

static void try_recipe(struct input *in, bool damage)
{
    static struct recipe r;
    cleanup_bytes struct bytes message = {0};
    kgrade_error err = {.code = ""};
    size_t at = damage ? input_number(in, 2) : 0;
    uint8_t how = damage ? input_byte(in) : 0;
    follow(&r, in);
    if (protocol_encode(&r.spec, &message, &err)) {
        require(!strcmp(err.code, "jail_invalid") && err.message[0]);
        return;
    }
    if (damage)
        message.data[at % message.size] ^= how;
    size_t n_passed = n_passed_of(&r.spec);
    if (!try_message(message.data, message.size, n_passed) || (damage && how))
        return;
    struct protocol_request back;
    require(protocol_parse(message.data, message.size, n_passed, &back, NULL) == 0);
    require_equal(&r.spec, &back.spec);
}

static void check_text(const char *field, size_t room)
{
    require(strnlen(field, room) < room);
}

static void try_status(const struct input *in)
{
    struct jail_status status;
    kgrade_error err = {.code = ""};
    if (protocol_read_status(in->at, in->left, &status, &err)) {
        require(!strcmp(err.code, "spawner_failed") && err.message[0]);
        return;
    }
    check_text(status.error.code, sizeof status.error.code);
    check_text(status.error.message, sizeof status.error.message);
    check_text(status.error.hint, sizeof status.error.hint);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    switch (input_byte(&in) % 4) {
    case 0: {
        size_t n_passed = input_byte(&in);
        try_message(in.at, in.left, n_passed);
        break;
    }
    case 1:
        try_recipe(&in, false);
        break;
    case 2:
        try_recipe(&in, true);
        break;
    default:
        try_status(&in);
        break;
    }
    return 0;
}
