#define _GNU_SOURCE
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "tokens.h"

#define USAGE "kgraded token NAME [--role agent|operator] [--file FILE]"
#define WRITE_NS (10 * IO_NS_PER_S)

struct words {
    const char *name, *file;
    enum access_role role;
};

static int read_words(int argc, char **argv, struct words *ret, kgrade_error *err)
{
    static const struct option options[] = {
        {"role", required_argument, NULL, 'r'},
        {"file", required_argument, NULL, 'f'},
        {NULL, 0, NULL, 0},
    };
    opterr = 0;
    optind = 0;
    for (int option; (option = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        if (option == 'f' && *optarg)
            ret->file = optarg;
        else if (option != 'r' || !access_role_from_name(optarg, &ret->role))
            return fail(err, "usage", USAGE, "'%.100s' is not understood, or its value is not.",
                        argv[optind - 1]);
    }
    if (optind + 1 != argc)
        return fail(err, "usage", USAGE, "A token needs one name.");
    ret->name = argv[optind];
    return 0;
}

/* A further line of a name must agree with those that are there. */
static int match_owner(const struct words *words, char *line, size_t size, kgrade_error *err)
{
    struct stat st;
    if (stat(words->file, &st) ? errno == ENOENT : st.st_size == 0)
        return 0;
    struct tokens tokens;
    if (tokens_read(words->file, &tokens, err))
        return -1;
    const struct owner *owner = tokens_owner(&tokens, words->name);
    int r = 0;
    if (owner && owner->role != words->role)
        r = fail(err, "usage", USAGE, "%s is %s in line %u of %.300s.", words->name,
                 owner->role == ACCESS_OPERATOR ? "an operator" : "an agent", owner->line,
                 words->file);
    const struct {
        const char *name;
        unsigned value;
    } options[] = {
        {"rate", owner ? owner->rate : 0},
        {"burst", owner ? owner->burst : 0},
        {"queue", owner ? owner->queue : 0},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        size_t used = strlen(line);
        if (options[i].value)
            snprintf(line + used, size - used, " %s=%u", options[i].name, options[i].value);
    }
    tokens_free(&tokens);
    return r;
}

static int append(const char *path, const char *line, kgrade_error *err)
{
    cleanup_close int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return fail_errno(err, "tokens_unwritable", NULL, "Cannot write %.300s", path);
    if (!S_ISREG(st.st_mode))
        return fail(err, "tokens_unwritable", NULL, "%.300s is not a regular file.", path);
    char last = '\n';
    if (st.st_size && pread(fd, &last, 1, st.st_size - 1) != 1)
        return fail_errno(err, "tokens_unwritable", NULL, "Cannot read %.300s", path);
    /* One write, so that several of these at the same time do not mix their lines. */
    char text[TOKENS_MAX_LINE + 3];
    int length = snprintf(text, sizeof text, "%s%s\n", last == '\n' ? "" : "\n", line);
    kgrade_error why;
    if (io_write_full(fd, text, (size_t)length, io_now() + WRITE_NS, &why))
        return fail(err, "tokens_unwritable", why.hint, "Cannot write %.300s: %.300s", path,
                    why.message);
    if (fsync(fd))
        return fail_errno(err, "tokens_unwritable", NULL, "Cannot write %.300s", path);
    return 0;
}

int access_command(int argc, char **argv, kgrade_error *err)
{
    struct words words = {.role = ACCESS_AGENT};
    char token[64], line[256];
    if (read_words(argc, argv, &words, err) ||
        access_new_token(words.name, words.role, token, line, err))
        return -1;
    if (words.file &&
        (match_owner(&words, line, sizeof line, err) || append(words.file, line, err)))
        return -1;
    printf("%s\n", token);
    if (!words.file)
        printf("%s\n", line);
    fflush(stdout);
    fprintf(stderr,
            words.file ? "The token is shown this once; its line was added to %s.  SIGHUP makes "
                         "kgraded read it.\n"
                       : "The first line is the token, shown this once; the second is for the "
                         "token file.%s\n",
            words.file ? words.file : "");
    return 0;
}
