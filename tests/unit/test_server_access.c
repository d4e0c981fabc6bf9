/* Who may do what: the token file, tokens, roles, rates. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/base/io.h"
#include "server/access/access.h"
#include "server/access/command.h"
#include "server/access/tokens.h"
#include "server/log.h"
#include "server/options.h"

#define HASH_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HASH_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
/* SHA-256 of "test", as FIPS 180-4 has it. */
#define HASH_OF_TEST "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

#define S UINT64_C(1000000000)

/* Stands before the library's: counts how often the comparison in constant time is used. */
static unsigned comparisons;
int nettle_memeql_sec(const void *a, const void *b, size_t n);
int nettle_memeql_sec(const void *a, const void *b, size_t n)
{
    comparisons++;
    return memcmp(a, b, n) == 0;
}

static char folder[] = "/tmp/kgrade-test-access-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    log_open(LOG_LEVEL_ERROR);
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/tokens", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return io_remove_tree(folder, NULL);
}

static void write_tokens(const char *text)
{
    assert_return_code(io_write_file(path, text, strlen(text), NULL), 0);
    assert_return_code(chmod(path, 0600), 0);
}

/* Parses and expects the message to be "f:LINE: ..." with this in it. */
static void assert_wrong_n(const char *text, size_t size, unsigned line, const char *what)
{
    kgrade_error e = {{0}, {0}, {0}};
    char place[32];
    struct tokens tokens;
    char *copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    assert_int_equal(tokens_parse("f", copy, size, &tokens, &e), -1);
    free(copy);
    assert_string_equal(e.code, "tokens_invalid");
    snprintf(place, sizeof place, "f:%u: ", line);
    if (strncmp(e.message, place, strlen(place)) != 0 || !strstr(e.message, what))
        fail_msg("'%s' is not '%s%s'", e.message, place, what);
}

static void assert_wrong(const char *text, unsigned line, const char *what)
{
    assert_wrong_n(text, strlen(text), line, what);
}

static void test_lines(void **state)
{
    (void)state;
    char text[] = "# name role hash\n\n\talice  agent " HASH_A " rate=60 burst=20 queue=16\r\n"
                  "  # indented\nops operator " HASH_B "\nalice agent " HASH_OF_TEST
                  " queue=16 burst=20 rate=60";
    struct tokens tokens;
    kgrade_error e;
    assert_return_code(tokens_parse("f", text, strlen(text), &tokens, &e), 0);
    assert_int_equal(tokens.n_tokens, 3);
    assert_int_equal(tokens.n_owners, 2);
    const struct owner *alice = tokens_owner(&tokens, "alice");
    assert_non_null(alice);
    assert_int_equal(alice->role, ACCESS_AGENT);
    assert_int_equal(alice->rate, 60);
    assert_int_equal(alice->burst, 20);
    assert_int_equal(alice->queue, 16);
    assert_int_equal(alice->line, 3);
    const struct owner *ops = tokens_owner(&tokens, "ops");
    assert_non_null(ops);
    assert_int_equal(ops->role, ACCESS_OPERATOR);
    assert_int_equal(ops->rate, 0);
    assert_null(tokens_owner(&tokens, "bob"));
    tokens_free(&tokens);
}

static void test_mistakes(void **state)
{
    (void)state;
    assert_wrong("", 1, "no token in the file");
    assert_wrong("# nobody\n\n", 2, "no token in the file");
    assert_wrong("\na/b agent " HASH_A, 2, "'a/b' is not a name");
    assert_wrong("-a agent " HASH_A, 1, "'-a' is not a name");
    assert_wrong("uid:0 agent " HASH_A, 1, "'uid:0' is not a name");
    assert_wrong("local agent " HASH_A, 1, "'local' is not a name");
    assert_wrong("a", 1, "the role is agent or operator, not ''");
    assert_wrong("a root " HASH_A, 1, "the role is agent or operator, not 'root'");
    assert_wrong("a agent", 1, "has 64 hex digits");
    assert_wrong("a agent " HASH_A "a", 1, "has 64 hex digits");
    assert_wrong("a agent g" HASH_A, 1, "has 64 hex digits");
    assert_wrong("a agent AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 1, "looks like a token");
    assert_wrong("a agent " HASH_A " colour=1", 1, "'colour=1' is no option");
    assert_wrong("a agent " HASH_A " rate", 1, "'rate' is no option");
    assert_wrong("a agent " HASH_A " rate=", 1, "rate is a whole number from 1 to");
    assert_wrong("a agent " HASH_A " rate=0", 1, "rate is a whole number from 1 to");
    assert_wrong("a agent " HASH_A " rate=1000001", 1, "rate is a whole number from 1 to");
    assert_wrong("a agent " HASH_A " burst=100001", 1, "burst is a whole number from 1 to");
    assert_wrong("a agent " HASH_A " queue=65537", 1, "queue is a whole number from 1 to");
    assert_wrong("a agent " HASH_A " queue=-1", 1, "queue is a whole number from 1 to");
    assert_wrong("a agent " HASH_A " queue=1x", 1, "queue is a whole number from 1 to");
    assert_wrong("a agent " HASH_A " queue=99999999999999999999", 1, "queue is a whole number");
    assert_wrong("a agent " HASH_A " rate=1 rate=1", 1, "rate is there twice");
    assert_wrong("a agent " HASH_A "\nb agent " HASH_A "\n", 2, "b has the token of a in line 1");
    assert_wrong("a agent " HASH_A "\n\na operator " HASH_B, 3, "another role or other options");
    assert_wrong("a agent " HASH_A "\na agent " HASH_B " rate=9", 2, "other options in line 1");
    assert_wrong_n("a agent\0" HASH_A, 8 + 64, 1, "NUL");
}

/* What stands in place of a hash may be a token, and is not repeated. */
static void test_no_secret_in_message(void **state)
{
    (void)state;
    static const char *const words[] = {"dGhpcy1pcy1hLXNlY3JldC10aGlzLWlzLWEtc2VjcmV",
                                        "hunter2hunter2"};
    for (size_t i = 0; i < 2; i++) {
        char text[128];
        struct tokens tokens;
        kgrade_error e;
        snprintf(text, sizeof text, "a agent %s", words[i]);
        assert_int_equal(tokens_parse("f", text, strlen(text), &tokens, &e), -1);
        assert_null(strstr(e.message, words[i]));
        assert_null(strstr(e.hint, words[i]));
    }
}

static void test_limits(void **state)
{
    (void)state;
    char name[ACCESS_NAME_SIZE + 1], line[TOKENS_MAX_LINE + 2];
    memset(name, 'n', ACCESS_NAME_SIZE);
    name[ACCESS_NAME_SIZE] = 0;
    assert_false(tokens_name_is_good(name));
    name[ACCESS_NAME_SIZE - 1] = 0;
    assert_true(tokens_name_is_good(name));

    struct tokens tokens;
    int length = snprintf(line, sizeof line, "a agent " HASH_A);
    memset(line + length, ' ', sizeof line - (size_t)length);
    assert_wrong_n(line, TOKENS_MAX_LINE + 1, 1, "longer than 512 bytes");
    line[TOKENS_MAX_LINE] = 0;
    assert_return_code(tokens_parse("f", line, TOKENS_MAX_LINE, &tokens, NULL), 0);
    tokens_free(&tokens);

    /* One token more than there may be. */
    enum { WIDTH = 80 };
    char *text = malloc((ACCESS_MAX_TOKENS + 1) * WIDTH);
    assert_non_null(text);
    char *at = text;
    for (unsigned i = 0; i <= ACCESS_MAX_TOKENS; i++)
        at += sprintf(at, "a%u agent %064x\n", i, i);
    assert_wrong_n(text, (size_t)(at - text), ACCESS_MAX_TOKENS + 1, "more than 10000 tokens");
    char *end = strstr(text, "a10000 ");
    assert_non_null(end);
    assert_return_code(tokens_parse("f", text, (size_t)(end - text), &tokens, NULL), 0);
    assert_int_equal(tokens.n_owners, ACCESS_MAX_TOKENS);
    assert_non_null(tokens_owner(&tokens, "a9999"));
    tokens_free(&tokens);
    free(text);
}

/* Opens path and expects this. */
static void assert_unreadable(const char *what)
{
    kgrade_error e = {{0}, {0}, {0}};
    struct access *access = NULL;
    assert_int_equal(access_open(path, &access, &e), -1);
    assert_string_equal(e.code, "tokens_unreadable");
    if (!strstr(e.message, what))
        fail_msg("'%s' lacks '%s'", e.message, what);
}

static void test_file(void **state)
{
    (void)state;
    unlink(path);
    assert_unreadable("Cannot open");
    assert_return_code(mkdir(path, 0700), 0);
    assert_unreadable("not a regular file");
    rmdir(path);
    assert_return_code(mkfifo(path, 0600), 0);
    assert_unreadable("not a regular file");
    unlink(path);
    write_tokens("a agent " HASH_A);
    assert_return_code(chmod(path, 0602), 0);
    assert_unreadable("written by everybody");
    assert_return_code(chmod(path, 0600), 0);
    assert_return_code(truncate(path, (off_t)TOKENS_MAX_BYTES + 1), 0);
    assert_unreadable("larger than 4194304 bytes");

    /* Readable for others is a warning. */
    write_tokens("a agent " HASH_A);
    assert_return_code(chmod(path, 0644), 0);
    struct access *access = NULL;
    char seen[512] = "";
    int pipes[2], err = dup(STDERR_FILENO);
    assert_return_code(pipe(pipes), 0);
    log_set_level(LOG_LEVEL_WARNING);
    dup2(pipes[1], STDERR_FILENO);
    int r = access_open(path, &access, NULL);
    dup2(err, STDERR_FILENO);
    log_set_level(LOG_LEVEL_ERROR);
    close(pipes[1]);
    assert_return_code(r, 0);
    assert_true(read(pipes[0], seen, sizeof seen - 1) > 0);
    assert_non_null(strstr(seen, "can be read by everybody"));
    close(pipes[0]);
    close(err);
    access_close(access);
}

static void assert_caller(struct access *access, const char *header, const char *name)
{
    const struct access_peer peer = {.is_unix = true, .uid = 0};
    struct access_caller caller;
    kgrade_error e = {{0}, {0}, {0}};
    int r = access_identify(access, header, &peer, &caller, &e);
    if (name) {
        assert_return_code(r, 0);
        assert_string_equal(caller.name, name);
    } else {
        assert_int_equal(r, -1);
        assert_string_equal(e.code, "unauthorized");
        assert_true(e.message[0] && e.hint[0]);
    }
}

static void test_identify(void **state)
{
    (void)state;
    write_tokens("tester agent " HASH_OF_TEST " queue=7\nzoe operator " HASH_A "\nbob agent " HASH_B
                 "\n");
    struct access *access;
    assert_return_code(access_open(path, &access, NULL), 0);
    assert_true(access_has_tokens(access));
    assert_caller(access, "Bearer test", "tester");
    assert_caller(access, "bearer   test ", "tester");
    /* Root over a Unix socket needs a token as well. */
    assert_caller(access, NULL, NULL);
    static const char *const wrong[] = {
        "",     "Bearer",     "Bearer ",      "Bearertest", "Basic dGVzd",
        "test", "Bearer tes", "Bearer testt", "Bearer a b", "Bearer  \t"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_caller(access, wrong[i], NULL);
    char longest[600] = "Bearer test";
    memset(longest + strlen(longest), ' ', 512 - strlen(longest));
    assert_caller(access, longest, "tester");
    longest[512] = ' ';
    assert_caller(access, longest, NULL);

    struct access_caller caller;
    const struct access_peer peer = {.is_unix = false};
    assert_return_code(access_identify(access, "Bearer test", &peer, &caller, NULL), 0);
    assert_int_equal(caller.queue, 7);
    assert_int_equal(caller.role, ACCESS_AGENT);
    access_close(access);
}

/* Every token is compared with the function made for it, whichever is right and even if none is. */
static void test_constant_time(void **state)
{
    (void)state;
    write_tokens("a agent " HASH_OF_TEST "\nb agent " HASH_A "\nc agent " HASH_B "\n");
    struct access *access;
    assert_return_code(access_open(path, &access, NULL), 0);
    comparisons = 0;
    assert_caller(access, "Bearer test", "a");
    assert_int_equal(comparisons, 3);
    assert_caller(access, "Bearer wrong", NULL);
    assert_int_equal(comparisons, 6);
    access_close(access);
}

static void test_without_tokens(void **state)
{
    (void)state;
    struct access *access;
    struct access_caller caller;
    struct access_peer peer = {.is_unix = false};
    assert_return_code(access_open(NULL, &access, NULL), 0);
    assert_false(access_has_tokens(access));
    assert_return_code(access_reload(access, NULL), 0);
    assert_return_code(access_identify(access, NULL, &peer, &caller, NULL), 0);
    assert_string_equal(caller.name, "local");
    assert_int_equal(caller.role, ACCESS_AGENT);
    assert_int_equal(caller.queue, ACCESS_DEFAULT_QUEUE);

    peer = (struct access_peer){.is_unix = true, .uid = 4711};
    access_set_limits(access, &(struct access_limits){60, 1, 3});
    assert_return_code(access_identify(access, "Bearer x", &peer, &caller, NULL), 0);
    assert_string_equal(caller.name, "uid:4711");
    assert_int_equal(caller.role, geteuid() == 4711 ? ACCESS_OPERATOR : ACCESS_AGENT);
    assert_int_equal(caller.queue, 3);
    peer.uid = 0;
    assert_return_code(access_identify(access, NULL, &peer, &caller, NULL), 0);
    assert_int_equal(caller.role, ACCESS_OPERATOR);
    peer.uid = geteuid();
    assert_return_code(access_identify(access, NULL, &peer, &caller, NULL), 0);
    assert_int_equal(caller.role, ACCESS_OPERATOR);
    access_close(access);
}

static void test_may_see(void **state)
{
    (void)state;
    struct access_caller agent = {.name = "alice", .role = ACCESS_AGENT};
    struct access_caller operator= {.name = "ops", .role = ACCESS_OPERATOR};
    assert_true(access_may_see(&agent, "alice"));
    assert_false(access_may_see(&agent, "alice2"));
    assert_false(access_may_see(&agent, ""));
    assert_true(access_may_see(&operator, "alice"));
}

static void test_bucket(void **state)
{
    (void)state;
    const struct rate rate = {.per_minute = 60, .burst = 3}; /* one a second */
    struct bucket b = {0};
    unsigned retry = 0;
    for (int i = 0; i < 3; i++)
        assert_true(bucket_take(&b, &rate, 1, 100 * S, &retry));
    assert_false(bucket_take(&b, &rate, 1, 100 * S, &retry));
    assert_int_equal(retry, 1);
    assert_false(bucket_take(&b, &rate, 3, 100 * S, &retry));
    assert_int_equal(retry, 3);
    /* A refusal takes nothing, and what was promised is kept. */
    assert_true(bucket_take(&b, &rate, 3, 103 * S, &retry));
    /* It fills up to burst and no further. */
    assert_false(bucket_is_full(&b, &rate, 105 * S));
    assert_true(bucket_is_full(&b, &rate, 106 * S));
    assert_true(bucket_take(&b, &rate, 3, 1000 * S, &retry));
    assert_false(bucket_take(&b, &rate, 1, 1000 * S, &retry));
    /* A batch above burst is granted by a full bucket, and paid for. */
    assert_true(bucket_take(&b, &rate, 10, 2000 * S, &retry));
    assert_false(bucket_take(&b, &rate, 1, 2000 * S, &retry));
    assert_int_equal(retry, 8);
    assert_false(bucket_take(&b, &rate, 1, 2007 * S, &retry));
    assert_true(bucket_take(&b, &rate, 1, 2008 * S, &retry));
    /* Rates that are no whole number of seconds: rounded up. */
    const struct rate slow = {.per_minute = 7, .burst = 1};
    struct bucket c = {0};
    assert_true(bucket_take(&c, &slow, 1, 10 * S, &retry));
    assert_false(bucket_take(&c, &slow, 1, 10 * S, &retry));
    assert_int_equal(retry, 9);
    assert_true(bucket_take(&c, &slow, 1, 19 * S, &retry));
}

static void admit_until_refused(struct access *access, const struct access_caller *caller,
                                unsigned expected)
{
    unsigned granted = 0, retry = 0;
    kgrade_error e = {{0}, {0}, {0}};
    while (!access_admit(access, caller, 1, &retry, &e) && granted <= expected)
        granted++;
    assert_int_equal(granted, expected);
    assert_string_equal(e.code, "rate_limited");
    assert_in_range(retry, 1, 3600);
}

static void test_admit(void **state)
{
    (void)state;
    /* Slow enough that none comes in while the test runs. */
    write_tokens("a agent " HASH_OF_TEST " rate=1 burst=2\nb agent " HASH_A "\n");
    struct access *access;
    assert_return_code(access_open(path, &access, NULL), 0);
    access_set_limits(access, &(struct access_limits){1, 3, 9});
    struct access_caller a = {.name = "a"}, b = {.name = "b"};
    admit_until_refused(access, &a, 2);
    admit_until_refused(access, &b, 3);

    /* What is used up stays so. */
    write_tokens("a agent " HASH_OF_TEST " rate=1 burst=2\nc agent " HASH_B " rate=1 burst=1\n");
    assert_return_code(access_reload(access, NULL), 0);
    admit_until_refused(access, &a, 0);
    admit_until_refused(access, &(struct access_caller){.name = "c"}, 1);
    access_close(access);
}

/* More callers than are remembered: an exhausted one is forgotten at last, never a wrong one. */
static void test_many_peers(void **state)
{
    (void)state;
    struct access *access;
    unsigned retry;
    assert_return_code(access_open(NULL, &access, NULL), 0);
    access_set_limits(access, &(struct access_limits){1, 1, 9});
    struct access_caller caller;
    for (unsigned i = 0; i < 1024; i++) {
        snprintf(caller.name, sizeof caller.name, "uid:%u", i);
        assert_return_code(access_admit(access, &caller, 1, &retry, NULL), 0);
    }
    snprintf(caller.name, sizeof caller.name, "uid:0");
    assert_int_equal(access_admit(access, &caller, 1, &retry, NULL), -1);
    snprintf(caller.name, sizeof caller.name, "uid:1024");
    assert_return_code(access_admit(access, &caller, 1, &retry, NULL), 0);
    assert_int_equal(access_admit(access, &caller, 1, &retry, NULL), -1);
    snprintf(caller.name, sizeof caller.name, "uid:1023");
    assert_int_equal(access_admit(access, &caller, 1, &retry, NULL), -1);
    snprintf(caller.name, sizeof caller.name, "uid:0");
    assert_return_code(access_admit(access, &caller, 1, &retry, NULL), 0);
    access_close(access);
}

static void test_reload(void **state)
{
    (void)state;
    write_tokens("a agent " HASH_OF_TEST "\n");
    struct access *access;
    kgrade_error e;
    assert_return_code(access_open(path, &access, NULL), 0);
    write_tokens("a agent nonsense\n");
    assert_int_equal(access_reload(access, &e), -1);
    assert_string_equal(e.code, "tokens_invalid");
    assert_caller(access, "Bearer test", "a");
    unlink(path);
    assert_int_equal(access_reload(access, &e), -1);
    assert_string_equal(e.code, "tokens_unreadable");
    assert_caller(access, "Bearer test", "a");
    write_tokens("b operator " HASH_OF_TEST "\n");
    assert_return_code(access_reload(access, &e), 0);
    assert_caller(access, "Bearer test", "b");
    write_tokens("b operator " HASH_A "\n");
    assert_return_code(access_reload(access, &e), 0);
    assert_caller(access, "Bearer test", NULL);
    access_close(access);
}

static atomic_uint identified, mistaken;
static atomic_bool enough;

static void *identify_often(void *data)
{
    const struct access_peer peer = {.is_unix = false};
    struct access_caller caller;
    unsigned retry;
    while (!enough) {
        if (!access_identify(data, "Bearer test", &peer, &caller, NULL) &&
            caller.role == ACCESS_AGENT && !strcmp(caller.name, "a"))
            identified++;
        else
            mistaken++;
        access_admit(data, &caller, 1, &retry, NULL);
    }
    return NULL;
}

/* Who is good before and after a reload is good while it happens. */
static void test_reload_under_load(void **state)
{
    (void)state;
    write_tokens("a agent " HASH_OF_TEST "\n");
    struct access *access;
    pthread_t threads[2];
    assert_return_code(access_open(path, &access, NULL), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, identify_often, access), 0);
    unsigned before = 0;
    for (int i = 0; i < 50; i++) {
        assert_return_code(access_reload(access, NULL), 0);
        while (identified == before)
            usleep(100);
        before = identified;
    }
    enough = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(mistaken, 0);
    access_close(access);
}

static void test_new_token(void **state)
{
    (void)state;
    char token[64], other[64], line[256], header[80];
    kgrade_error e;
    assert_return_code(access_new_token("alice", ACCESS_OPERATOR, other, line, &e), 0);
    assert_return_code(access_new_token("alice", ACCESS_OPERATOR, token, line, &e), 0);
    assert_int_equal(strlen(token), 43);
    assert_int_equal(strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                   "0123456789-_"),
                     43);
    assert_string_not_equal(token, other);
    assert_null(strstr(line, token));
    write_tokens(line);
    struct access *access;
    assert_return_code(access_open(path, &access, &e), 0);
    snprintf(header, sizeof header, "Bearer %s", token);
    assert_caller(access, header, "alice");
    snprintf(header, sizeof header, "Bearer %s", other);
    assert_caller(access, header, NULL);
    access_close(access);
    assert_int_equal(access_new_token("a b", ACCESS_AGENT, token, line, &e), -1);
    assert_string_equal(e.code, "usage");
    assert_int_equal(access_new_token("local", ACCESS_AGENT, token, line, &e), -1);
}

/* Runs `kgraded token ...`; *output gets what it prints to stdout. */
static int command(char *output, size_t size, kgrade_error *e, const char *const *words, int n)
{
    char *argv[8] = {(char *)(uintptr_t) "token"};
    for (int i = 0; i < n; i++)
        argv[i + 1] = (char *)(uintptr_t)words[i];
    int pipes[2], out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_return_code(pipe(pipes), 0);
    fflush(stdout);
    dup2(pipes[1], STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
    int r = access_command(n + 1, argv, e);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(pipes[1]);
    ssize_t got = read(pipes[0], output, size - 1);
    output[got > 0 ? got : 0] = 0;
    close(pipes[0]);
    close(out);
    close(err);
    return r;
}
#define COMMAND(output, e, ...)                                                                    \
    command(output, sizeof(output), e, (const char *const[]){__VA_ARGS__},                         \
            (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

static void test_command(void **state)
{
    (void)state;
    char first[512], second[512], header[600];
    kgrade_error e = {{0}, {0}, {0}};
    unlink(path);
    assert_return_code(COMMAND(first, &e, "alice", "--file", path), 0);
    struct stat st;
    assert_return_code(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_return_code(COMMAND(second, &e, "--role", "operator", "ops", "--file", path), 0);
    struct access *access;
    assert_return_code(access_open(path, &access, &e), 0);
    snprintf(header, sizeof header, "Bearer %.43s", first);
    assert_caller(access, header, "alice");
    snprintf(header, sizeof header, "Bearer %.43s", second);
    assert_caller(access, header, "ops");
    access_close(access);

    /* A second token of the same name: with the same options, also after a line without an end. */
    write_tokens("alice agent " HASH_A " rate=5 queue=6");
    assert_return_code(COMMAND(first, &e, "alice", "--file", path), 0);
    assert_return_code(access_open(path, &access, &e), 0);
    snprintf(header, sizeof header, "Bearer %.43s", first);
    assert_caller(access, header, "alice");
    access_close(access);
    assert_int_equal(COMMAND(first, &e, "alice", "--role", "operator", "--file", path), -1);
    assert_non_null(strstr(e.message, "is an agent in line 1"));

    /* Without a file the line is printed. */
    assert_return_code(COMMAND(first, &e, "bob"), 0);
    assert_non_null(strstr(first, "\nbob             agent    "));
    assert_int_equal(first[43], '\n');

    assert_int_equal(COMMAND(first, &e, "--role", "agent"), -1);
    assert_string_equal(e.code, "usage");
    assert_int_equal(COMMAND(first, &e, "a", "b"), -1);
    assert_int_equal(COMMAND(first, &e, "a", "--role", "king"), -1);
    assert_int_equal(COMMAND(first, &e, "a", "--colour", "red"), -1);
    assert_int_equal(COMMAND(first, &e, "a", "--file"), -1);
    assert_int_equal(COMMAND(first, &e, "a", "--file", folder), -1);
    assert_string_equal(first, "");
    assert_int_equal(COMMAND(first, &e, "a", "--file", "/dev/full"), -1);
    assert_string_equal(first, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_no_secret_in_message),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_identify),
        cmocka_unit_test(test_constant_time),
        cmocka_unit_test(test_without_tokens),
        cmocka_unit_test(test_may_see),
        cmocka_unit_test(test_bucket),
        cmocka_unit_test(test_admit),
        cmocka_unit_test(test_many_peers),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_reload_under_load),
        cmocka_unit_test(test_new_token),
        cmocka_unit_test(test_command),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
