/* The store on disks that are really full. */
#define _GNU_SOURCE
#include "store_help.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void test_file_size_limit(void **state)
{
    (void)state;
    struct store *store = open_store();
    char begun[STORE_ID_SIZE];
    struct store_request r = request(begun);
    add(store, &r);
    store_begin(store, begun);
    size_t size = 4 << 20;
    cleanup_free char *source = malloc(size + 1);
    memset(source, 'x', size);
    source[size] = 0;

    struct rlimit old, tight;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = old;
    tight.rlim_cur = 1 << 20;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    char id[STORE_ID_SIZE];
    r = request(id);
    r.source = source;
    r.source_size = size;
    struct answer answer = ANSWER;
    store_add(store, &r, on_answer, &answer);
    const char *code = await(&answer);
    /* What is small still finds room, by itself. */
    struct store_end end = accepted(1);
    struct answer ended = ANSWER;
    store_finish(store, begun, &end, on_answer, &ended);
    const char *ended_code = await(&ended);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);

    assert_string_equal(code, "store_unavailable");
    assert_non_null(strstr(answer.error.message, "File too large"));
    assert_non_null(strstr(answer.error.hint, "Free space"));
    assert_string_equal(ended_code, "");
    await_health(store, true);
    add(store, &r);
    close_store(store);
    assert_sound();
}

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__;                                                                       \
    } while (0)
#define NOT_ALLOWED 77

/* Fills the file system of the folder; returns the file's descriptor. */
static int fill_up(const char *name)
{
    static const char block[4096];
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (fd >= 0 && write(fd, block, sizeof block) > 0)
        ;
    return fd;
}

static bool put(const char *name, const char *text)
{
    cleanup_close int fd = open(name, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* A mount namespace of this process's own, in which it may mount. */
static bool enter_namespace(void)
{
    char uids[32], gids[32];
    snprintf(uids, sizeof uids, "0 %u 1", (unsigned)getuid());
    snprintf(gids, sizeof gids, "0 %u 1", (unsigned)getgid());
    return !unshare(CLONE_NEWUSER | CLONE_NEWNS) && put("/proc/self/setgroups", "deny") &&
           put("/proc/self/uid_map", uids) && put("/proc/self/gid_map", gids);
}

/* In a file system of 2 MiB: returns the line of what is wrong, or 0. */
static int use_full_file_system(void)
{
    char filler[100];
    if (!enter_namespace() || mount("none", folder, "tmpfs", 0, "size=2m"))
        return NOT_ALLOWED;
    struct store *store;
    kgrade_error error;
    MUST(!store_open(path, &store, &error));
    char id[STORE_ID_SIZE], other[STORE_ID_SIZE];
    struct store_request r = request(id);
    struct answer answer = ANSWER, refused = ANSWER, ended = ANSWER, again = ANSWER;
    store_add(store, &r, on_answer, &answer);
    MUST(await(&answer) && !answer.error.code[0]);

    snprintf(filler, sizeof filler, "%s/filler", folder);
    int fd = fill_up(filler);
    MUST(fd >= 0);
    static char source[65536];
    r = request(other);
    r.source = source;
    r.source_size = sizeof source;
    store_add(store, &r, on_answer, &refused);
    MUST(await(&refused) && !strcmp(refused.error.code, "store_unavailable"));
    MUST(strstr(refused.error.message, "full"));
    struct store_end end = accepted(1);
    static char result[65536];
    memset(result, ' ', sizeof result - 1);
    end.result = result;
    store_finish(store, id, &end, on_answer, &ended);
    nanosleep(&(struct timespec){.tv_nsec = 600000000}, NULL); /* at least one attempt */
    struct store_health health;
    store_health(store, &health);
    MUST(!health.works && !answers(&ended));

    close(fd);
    MUST(!unlink(filler));
    MUST(await(&ended) && !ended.error.code[0]);
    store_add(store, &r, on_answer, &again);
    MUST(await(&again) && !again.error.code[0]);
    MUST(!store_close(store, GENEROUS_NS));
    MUST(!store_open(path, &store, &error));
    MUST(!store_close(store, GENEROUS_NS));
    return 0;
}

static void test_full_file_system(void **state)
{
    (void)state;
    int status;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        int line = use_full_file_system();
        if (line && line != NOT_ALLOWED)
            fprintf(stderr, "line %d\n", line);
        _exit(line == NOT_ALLOWED ? NOT_ALLOWED : line != 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_ALLOWED) {
        print_message("No user namespace with a file system of its own can be made here.\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_folder, tear_down_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_full_file_system), /* first: before there are threads */
        TEST(test_file_size_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
