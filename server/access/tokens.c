#define _GNU_SOURCE
#include "tokens.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../log.h"
#include "../options.h"

#define LINE_HINT                                                                                  \
    "A line is: NAME agent|operator SHA-256 [rate=N] [burst=N] [queue=N]; `kgraded token NAME` "   \
    "makes one."
#define BLANKS " \t\r"

/* One line of the file. */
struct entry {
    struct owner owner;
    struct secret_hash hash;
};

struct entries {
    struct entry *all;
    size_t n, room;
};

static void entries_free(struct entries *entries)
{
    free(entries->all);
}

const char *access_role_name(enum access_role role)
{
    return role == ACCESS_OPERATOR ? "operator" : "agent";
}

bool access_role_from_name(const char *name, enum access_role *ret)
{
    bool is_operator = !strcmp(name, "operator");
    if (!is_operator && strcmp(name, "agent"))
        return false;
    *ret = is_operator ? ACCESS_OPERATOR : ACCESS_AGENT;
    return true;
}

bool tokens_name_is_good(const char *name)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strlen(name);
    return length && length < ACCESS_NAME_SIZE && strspn(name, good) == length &&
           isalnum((unsigned char)name[0]) && strcmp(name, "local");
}

static int parse_option(char *word, struct owner *owner, kgrade_error *err)
{
    const struct {
        const char *name;
        unsigned *value;
        unsigned least, most;
    } options[] = {
        {"rate", &owner->rate, 1, SERVER_MAX_RATE},
        {"burst", &owner->burst, 1, SERVER_MAX_BURST},
        {"queue", &owner->queue, 1, SERVER_MAX_QUEUE},
    };
    char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : 0;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (!equals || strlen(options[i].name) != length ||
            memcmp(word, options[i].name, length) != 0)
            continue;
        if (*options[i].value)
            return fail(err, "tokens_invalid", LINE_HINT, "%s is there twice.", options[i].name);
        char *end = NULL;
        errno = 0;
        unsigned long value = strtoul(equals + 1, &end, 10);
        if (!isdigit((unsigned char)equals[1]) || *end || errno || value < options[i].least ||
            value > options[i].most)
            return fail(err, "tokens_invalid", LINE_HINT,
                        "%s is a whole number from %u to %u, not '%.40s'.", options[i].name,
                        options[i].least, options[i].most, equals + 1);
        *options[i].value = (unsigned)value;
        return 0;
    }
    return fail(err, "tokens_invalid", LINE_HINT, "'%.40s' is no option of a token.", word);
}

/* What is in place of a hash is not shown: it may be a token. */
static int parse_hash(const char *word, struct secret_hash *ret, kgrade_error *err)
{
    if (word && secret_from_hex(word, ret))
        return 0;
    if (word && strlen(word) == SECRET_TOKEN_LENGTH)
        return fail(err, "tokens_invalid",
                    "Take it out, it is no secret any more; `kgraded token NAME` makes a new one "
                    "and the line for it.",
                    "this looks like a token; the file holds the SHA-256 of it.");
    return fail(err, "tokens_invalid", LINE_HINT, "the SHA-256 of a token has %d hex digits.",
                SECRET_HASH_DIGITS);
}

/* 1 when the line holds nothing. */
static int parse_line(char *line, struct entry *ret, kgrade_error *err)
{
    char *rest = NULL;
    char *name = strtok_r(line, BLANKS, &rest);
    if (!name || *name == '#')
        return 1;
    struct entry entry = {0};
    if (!tokens_name_is_good(name))
        return fail(err, "tokens_invalid", LINE_HINT,
                    "'%.70s' is not a name: that is 1 to %d letters, digits, '.', '_' and '-', "
                    "not \"local\".",
                    name, ACCESS_NAME_SIZE - 1);
    strcpy(entry.owner.name, name);
    const char *role = strtok_r(NULL, BLANKS, &rest);
    if (!role || !access_role_from_name(role, &entry.owner.role))
        return fail(err, "tokens_invalid", LINE_HINT, "the role is agent or operator, not '%.40s'.",
                    role ? role : "");
    if (parse_hash(strtok_r(NULL, BLANKS, &rest), &entry.hash, err))
        return -1;
    for (char *word; (word = strtok_r(NULL, BLANKS, &rest));)
        if (parse_option(word, &entry.owner, err))
            return -1;
    *ret = entry;
    return 0;
}

static int add_entry(struct entries *entries, const struct entry *entry, kgrade_error *err)
{
    if (entries->n == ACCESS_MAX_TOKENS)
        return fail(err, "tokens_invalid", NULL, "there are more than %u tokens.",
                    ACCESS_MAX_TOKENS);
    if (entries->n == entries->room) {
        size_t room = entries->room ? 2 * entries->room : 64;
        struct entry *all = realloc(entries->all, room * sizeof *all);
        if (!all)
            return fail(err, "out_of_memory", NULL, "there is no memory for more tokens.");
        entries->all = all;
        entries->room = room;
    }
    entries->all[entries->n++] = *entry;
    return 0;
}

static int add_line(char *line, size_t length, unsigned number, struct entries *entries,
                    kgrade_error *err)
{
    if (length > TOKENS_MAX_LINE)
        return fail(err, "tokens_invalid", LINE_HINT, "the line is longer than %u bytes.",
                    TOKENS_MAX_LINE);
    if (strlen(line) != length)
        return fail(err, "tokens_invalid", LINE_HINT, "the line holds a NUL byte.");
    struct entry entry;
    int r = parse_line(line, &entry, err);
    if (r)
        return r > 0 ? 0 : -1;
    entry.owner.line = number;
    return add_entry(entries, &entry, err);
}

static int by_name(const void *a, const void *b)
{
    const struct owner *left = &((const struct entry *)a)->owner;
    const struct owner *right = &((const struct entry *)b)->owner;
    int order = strcmp(left->name, right->name);
    return order ? order : (int)left->line - (int)right->line;
}

static int by_hash(const void *a, const void *b)
{
    const struct entry *left = *(const struct entry *const *)a;
    const struct entry *right = *(const struct entry *const *)b;
    int order = memcmp(&left->hash, &right->hash, sizeof left->hash);
    return order ? order : (int)left->owner.line - (int)right->owner.line;
}

/* ret_line: where it is wrong. */
static int check_hashes(const struct entries *entries, unsigned *ret_line, kgrade_error *err)
{
    cleanup_free const struct entry **sorted = malloc(entries->n * sizeof *sorted);
    if (!sorted)
        return fail(err, "out_of_memory", NULL, "there is no memory for the tokens.");
    for (size_t i = 0; i < entries->n; i++)
        sorted[i] = &entries->all[i];
    qsort(sorted, entries->n, sizeof *sorted, by_hash);
    for (size_t i = 1; i < entries->n; i++) {
        if (memcmp(&sorted[i - 1]->hash, &sorted[i]->hash, sizeof sorted[i]->hash) != 0)
            continue;
        *ret_line = sorted[i]->owner.line;
        return fail(err, "tokens_invalid", "Make a token of its own for each owner.",
                    "%s has the token of %s in line %u.", sorted[i]->owner.name,
                    sorted[i - 1]->owner.name, sorted[i - 1]->owner.line);
    }
    return 0;
}

/* Groups the lines of one name; ret_line as above. */
static int group(struct entries *entries, struct tokens *ret, unsigned *ret_line, kgrade_error *err)
{
    struct tokens t = {
        .owners = calloc(entries->n, sizeof *t.owners),
        .tokens = calloc(entries->n, sizeof *t.tokens),
    };
    if (!t.owners || !t.tokens) {
        tokens_free(&t);
        return fail(err, "out_of_memory", NULL, "there is no memory for the tokens.");
    }
    qsort(entries->all, entries->n, sizeof *entries->all, by_name);
    for (size_t i = 0; i < entries->n; i++) {
        const struct owner *line = &entries->all[i].owner;
        const struct owner *owner = t.n_owners ? &t.owners[t.n_owners - 1] : NULL;
        if (!owner || strcmp(owner->name, line->name) != 0) {
            t.owners[t.n_owners++] = *line;
        } else if (owner->role != line->role || owner->rate != line->rate ||
                   owner->burst != line->burst || owner->queue != line->queue) {
            *ret_line = line->line;
            fail(err, "tokens_invalid", "Lines of the same name agree in everything but the token.",
                 "%s has another role or other options in line %u.", line->name, owner->line);
            tokens_free(&t);
            return -1;
        }
        t.tokens[t.n_tokens++] = (struct token){entries->all[i].hash, t.n_owners - 1, line->line};
    }
    *ret = t;
    return 0;
}

static int parse(char *text, size_t size, struct tokens *ret, unsigned *ret_line, kgrade_error *err)
{
    __attribute__((cleanup(entries_free))) struct entries entries = {0};
    unsigned number = 0;
    for (char *at = text; at < text + size;) {
        char *end = memchr(at, '\n', (size_t)(text + size - at));
        if (!end)
            end = text + size;
        *end = 0;
        *ret_line = ++number;
        if (add_line(at, (size_t)(end - at), number, &entries, err))
            return -1;
        at = end + 1;
    }
    *ret_line = number ? number : 1;
    if (!entries.n)
        return fail(err, "tokens_invalid",
                    "`kgraded token NAME` makes a line for it; to serve whoever can connect, give "
                    "no file.",
                    "there is no token in the file.");
    if (check_hashes(&entries, ret_line, err))
        return -1;
    return group(&entries, ret, ret_line, err);
}

int tokens_parse(const char *path, char *text, size_t size, struct tokens *ret, kgrade_error *err)
{
    kgrade_error why;
    unsigned line = 1;
    if (!parse(text, size, ret, &line, &why))
        return 0;
    return fail(err, why.code, why.hint, "%.300s:%u: %.600s", path, line, why.message);
}

static int check_file(const char *path, int fd, size_t *ret_size, kgrade_error *err)
{
    struct stat st;
    if (fstat(fd, &st))
        return fail_errno(err, "tokens_unreadable", NULL, "Cannot look at %.300s", path);
    if (!S_ISREG(st.st_mode))
        return fail(err, "tokens_unreadable", NULL, "%.300s is not a regular file.", path);
    if (st.st_size > TOKENS_MAX_BYTES)
        return fail(err, "tokens_unreadable", NULL, "%.300s is larger than %u bytes.", path,
                    TOKENS_MAX_BYTES);
    if (st.st_mode & S_IWOTH)
        return fail(err, "tokens_unreadable", "Take the permission away: chmod o-w on it.",
                    "%.300s can be written by everybody, so it says nothing about who may do what.",
                    path);
    if (st.st_mode & S_IROTH)
        log_line(LOG_LEVEL_WARNING,
                 "tokens: %.300s can be read by everybody; it holds hashes only, but nobody else "
                 "needs them",
                 path);
    *ret_size = (size_t)st.st_size;
    return 0;
}

int tokens_read(const char *path, struct tokens *ret, kgrade_error *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    size_t size = 0;
    if (fd < 0)
        return fail_errno(err, "tokens_unreadable", "The user of kgraded must be able to read it.",
                          "Cannot open %.300s", path);
    if (check_file(path, fd, &size, err))
        return -1;
    cleanup_free char *text = malloc(size + 1);
    if (!text)
        return fail(err, "out_of_memory", NULL, "There is no memory to read %.300s.", path);
    size_t used = 0;
    while (used < size) {
        ssize_t n = read(fd, text + used, size - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(err, "tokens_unreadable", NULL, "Cannot read %.300s", path);
        if (n == 0)
            break;
        used += (size_t)n;
    }
    return tokens_parse(path, text, used, ret, err);
}

void tokens_free(struct tokens *t)
{
    free(t->owners);
    free(t->tokens);
    *t = (struct tokens){0};
}

static int name_order(const void *name, const void *owner)
{
    return strcmp(name, ((const struct owner *)owner)->name);
}

struct owner *tokens_owner(const struct tokens *t, const char *name)
{
    return t->n_owners ? bsearch(name, t->owners, t->n_owners, sizeof *t->owners, name_order)
                       : NULL;
}
