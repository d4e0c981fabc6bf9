/* The settings: command line, file, environment, reload. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/base/io.h"
#include "server/config.h"
#include "server/options.h"
#include "server/places.h"
#include "server/settings.h"

static char folder[] = "/tmp/kgrade-test-options-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/conf", folder);
    places_forget_manager();
    setenv("XDG_STATE_HOME", folder, 1);
    setenv("XDG_RUNTIME_DIR", folder, 1);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return io_remove_tree(folder, NULL);
}

static void write_config(const char *text)
{
    assert_return_code(io_write_file(path, text, strlen(text), NULL), 0);
}

#define MAX_WORDS 16
static char *words[MAX_WORDS + 1];

/* kgraded --config PATH WORD... */
static enum options_outcome parse(struct server_options *o, kgrade_error *e,
                                  const char *const *more)
{
    int n = 0;
    words[n++] = (char *)(uintptr_t) "kgraded";
    words[n++] = (char *)(uintptr_t) "--config";
    words[n++] = path;
    for (; more && *more && n < MAX_WORDS; more++)
        words[n++] = (char *)(uintptr_t)*more;
    words[n] = NULL;
    memset(e, 0, sizeof *e);
    return options_parse(n, words, o, e);
}
#define PARSE(o, e, ...) parse(o, e, (const char *const[]){__VA_ARGS__, NULL})

static void assert_bad(enum options_outcome outcome, const kgrade_error *e, const char *code,
                       const char *what)
{
    assert_int_equal(outcome, OPTIONS_BAD);
    assert_string_equal(e->code, code);
    if (!strstr(e->message, what))
        fail_msg("'%s' lacks '%s'", e->message, what);
}

static void test_defaults(void **state)
{
    (void)state;
    struct server_options o;
    kgrade_error e;
    char expected[128];
    write_config("# nothing\n\n   \n");
    assert_int_equal(PARSE(&o, &e, NULL), OPTIONS_RUN);
    assert_string_equal(o.config, path);
    assert_null(o.listen);
    assert_true(o.default_listener);
    snprintf(expected, sizeof expected, "%s/kgraded.sock", folder);
    assert_string_equal(o.unix_path, expected);
    snprintf(expected, sizeof expected, "%s/kgrade/kgrade.db", folder);
    assert_string_equal(o.store, expected);
    assert_null(o.cache);
    assert_null(o.tasks);
    assert_null(o.python);
    assert_null(o.tokens);
    assert_false(o.allow_reduced);
    assert_int_equal(o.metrics, SERVER_METRICS_ALL);
    assert_int_equal(o.log_level, LOG_LEVEL_INFO);
    assert_int_equal(o.python_spares, 2);
    assert_int_equal(o.max_body, 2 << 20);
    assert_int_equal(o.max_buffered, 256 << 20);
    assert_int_equal(o.max_connections, 1024);
    assert_int_equal(o.max_per_address, 1024);
    assert_int_equal(o.queue, 1024);
    assert_int_equal(o.queue_per_owner, 64);
    assert_int_equal(o.rate, 600);
    assert_int_equal(o.burst, 100);
    assert_int_equal(o.builds_ahead, 0);
    assert_int_equal(o.max_grade, 900);
    assert_int_equal(o.max_judging, 600);
    assert_int_equal(o.max_wait, 600);
    assert_int_equal(o.request_timeout, 30);
    assert_int_equal(o.drain, 30);
    options_free(&o);
}

/* Every setting is taken from the file and from the command line, which wins. */
static void test_every_setting(void **state)
{
    (void)state;
    struct server_options o;
    kgrade_error e;
    write_config(
        "tokens=/t\nstore = /s # not a comment\n cache\t=\t/c \nlisten = 127.0.0.1:1\n"
        "tasks = /k\r\npython = a=/b:/c\r\npython-spares = 16\nisolation = reduced\nqueue = "
        "0\nqueue-per-owner = 2\nrate = 3\n"
        "burst = 4\nbuilds-ahead = 5\nmax-grade = 6\nmax-judging = 7\nmax-wait = 0\ndrain = 8\n"
        "max-body = 9K\nmax-buffered = 1G\nmax-connections = 11\nmax-per-address = 12\n"
        "request-timeout = 13\nmetrics = off\nlog-level = debug");
    assert_int_equal(PARSE(&o, &e, NULL), OPTIONS_RUN);
    assert_string_equal(o.tokens, "/t");
    assert_string_equal(o.store, "/s # not a comment");
    assert_string_equal(o.cache, "/c");
    assert_string_equal(o.listen, "127.0.0.1:1");
    assert_null(o.unix_path);
    assert_false(o.default_listener);
    assert_string_equal(o.tasks, "/k");
    assert_string_equal(o.python, "a=/b:/c");
    assert_int_equal(o.python_spares, 16);
    assert_true(o.allow_reduced);
    assert_int_equal(o.queue, 0);
    assert_int_equal(o.queue_per_owner, 2);
    assert_int_equal(o.rate, 3);
    assert_int_equal(o.burst, 4);
    assert_int_equal(o.builds_ahead, 5);
    assert_int_equal(o.max_grade, 6);
    assert_int_equal(o.max_judging, 7);
    assert_int_equal(o.max_wait, 0);
    assert_int_equal(o.drain, 8);
    assert_int_equal(o.max_body, 9 << 10);
    assert_int_equal(o.max_buffered, 1 << 30);
    assert_int_equal(o.max_connections, 11);
    assert_int_equal(o.max_per_address, 12);
    assert_int_equal(o.request_timeout, 13);
    assert_int_equal(o.metrics, SERVER_METRICS_OFF);
    assert_int_equal(o.log_level, LOG_LEVEL_DEBUG);
    options_free(&o);

    /* A listener on the command line stands in for the file's, also for the other kind. */
    assert_int_equal(PARSE(&o, &e, "--unix", "/u", "--queue", "77", "--metrics", "operators"),
                     OPTIONS_RUN);
    assert_null(o.listen);
    assert_string_equal(o.unix_path, "/u");
    assert_int_equal(o.queue, 77);
    assert_int_equal(o.metrics, SERVER_METRICS_OPERATORS);
    assert_int_equal(o.burst, 4);
    options_free(&o);
}

static void assert_config_wrong(const char *text, unsigned line, const char *what)
{
    struct server_options o;
    kgrade_error e;
    char place[128];
    write_config(text);
    enum options_outcome outcome = PARSE(&o, &e, NULL);
    snprintf(place, sizeof place, "%s:%u: %s", path, line, what);
    assert_bad(outcome, &e, "config_invalid", place);
    assert_true(e.hint[0]);
}

static void test_config_mistakes(void **state)
{
    (void)state;
    assert_config_wrong("# x\n\nqeue = 1\n", 3, "there is no setting 'qeue'");
    assert_config_wrong("queue 1\n", 1, "'queue 1' is not a setting");
    assert_config_wrong("[service]\n", 1, "'[service]' is not a setting");
    assert_config_wrong("= 1\n", 1, "'= 1' is not a setting");
    assert_config_wrong("queue = 1\n\nqueue = 1\n", 3, "queue is set in line 1 already");
    assert_config_wrong("queue =\n", 1, "queue takes a whole number from 0 to 65536, not ''");
    assert_config_wrong("queue = 1 # x\n", 1, "queue takes a whole number");
    assert_config_wrong("queue = 65537\n", 1, "queue takes a whole number");
    assert_config_wrong("python-spares = 17\n", 1,
                        "python-spares takes a whole number from 1 to 16, not '17'");
    assert_config_wrong("store =\n", 1, "store needs a value");
    assert_config_wrong("isolation = none\n", 1, "isolation is one of full|reduced, not 'none'");
    assert_config_wrong("log-level = loud", 1, "log-level is one of error|warning|info|debug");

    struct server_options o;
    kgrade_error e;
    write_config("config = /x\n");
    assert_bad(PARSE(&o, &e, NULL), &e, "config_invalid", "for the command line only");
    write_config("unix = /x\nlisten = 127.0.0.1:0\n");
    assert_bad(PARSE(&o, &e, NULL), &e, "config_invalid", "exclude each other");
    write_config("max-body = 2M\nmax-buffered = 1M\n");
    assert_bad(PARSE(&o, &e, NULL), &e, "usage", "must have room");
    assert_return_code(io_write_file(path, "queue\0 = 1\n", 11, NULL), 0);
    assert_bad(PARSE(&o, &e, NULL), &e, "config_invalid", ":1: the line holds a NUL");
    unlink(path);
    assert_bad(PARSE(&o, &e, NULL), &e, "config_unreadable", "There is no file");
    assert_return_code(mkdir(path, 0700), 0);
    assert_bad(PARSE(&o, &e, NULL), &e, "config_unreadable", "Cannot read");
    rmdir(path);
}

static int count(void *data, const char *name, const char *value, unsigned line, kgrade_error *e)
{
    (void)name, (void)value, (void)line, (void)e;
    ++*(unsigned *)data;
    return 0;
}

static void test_config_size(void **state)
{
    (void)state;
    char *text = malloc(CONFIG_MAX_BYTES + 1);
    kgrade_error e;
    unsigned n = 0;
    assert_non_null(text);
    memset(text, '\n', CONFIG_MAX_BYTES + 1);
    memcpy(text + CONFIG_MAX_BYTES - 3, "a=b", 3);
    assert_return_code(io_write_file(path, text, CONFIG_MAX_BYTES, NULL), 0);
    assert_int_equal(config_read(path, count, &n, &e), 0);
    assert_int_equal(n, 1);
    assert_return_code(io_write_file(path, text, CONFIG_MAX_BYTES + 1, NULL), 0);
    assert_int_equal(config_read(path, count, &n, &e), -1);
    assert_string_equal(e.code, "config_unreadable");
    assert_int_equal(config_read("/dev/null", count, &n, &e), 0);
    free(text);
}

/* Every limit, from both sides. */
static void test_limits(void **state)
{
    (void)state;
    write_config("");
    unsigned numbers = 0;
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *s = &settings[i];
        struct server_options o = {0};
        kgrade_error e;
        char text[32];
        if (s->kind != SETTING_NUMBER && s->kind != SETTING_SIZE)
            continue;
        numbers++;
        snprintf(text, sizeof text, "%llu", s->most);
        assert_return_code(setting_set(s, "--", text, &o, &e), 0);
        snprintf(text, sizeof text, "%llu", s->most + 1);
        assert_int_equal(setting_set(s, "--", text, &o, &e), -1);
        snprintf(text, sizeof text, "%llu", s->least);
        assert_return_code(setting_set(s, "--", text, &o, &e), 0);
        if (s->least) {
            snprintf(text, sizeof text, "%llu", s->least - 1);
            assert_int_equal(setting_set(s, "--", text, &o, &e), -1);
            assert_string_equal(e.code, "usage");
            assert_non_null(strstr(e.message, s->name));
        }
    }
    assert_in_range(numbers, 10, 40);
}

static void test_command_line(void **state)
{
    (void)state;
    struct server_options o;
    kgrade_error e;
    write_config("");
    assert_int_equal(PARSE(&o, &e, "--help", "--colour"), OPTIONS_HELP);
    assert_int_equal(PARSE(&o, &e, "-h"), OPTIONS_HELP);
    assert_int_equal(PARSE(&o, &e, "--version"), OPTIONS_VERSION);
    assert_bad(PARSE(&o, &e, "--colour"), &e, "usage", "'--colour' is not an option");
    assert_bad(PARSE(&o, &e, "--queue"), &e, "usage", "'--queue' needs a value");
    assert_bad(PARSE(&o, &e, "serve"), &e, "usage", "'serve' is one word too many");
    assert_bad(PARSE(&o, &e, "--unix", "/u", "--listen", "x"), &e, "usage", "--listen and --unix");
    assert_bad(PARSE(&o, &e, "--store", ""), &e, "usage", "--store needs a value");
    /* Given twice, the last one counts, as everywhere. */
    assert_int_equal(PARSE(&o, &e, "--queue", "1", "--store", "/a", "--queue=2", "--store", "/b"),
                     OPTIONS_RUN);
    assert_int_equal(o.queue, 2);
    assert_string_equal(o.store, "/b");
    options_free(&o);
}

static void test_places(void **state)
{
    (void)state;
    struct server_options o;
    kgrade_error e;
    char credentials[80], tokens[96];
    write_config("");
    snprintf(credentials, sizeof credentials, "%s/credentials", folder);
    snprintf(tokens, sizeof tokens, "%s/tokens", credentials);
    assert_return_code(mkdir(credentials, 0700), 0);
    setenv("RUNTIME_DIRECTORY", "/run/k", 1);
    setenv("STATE_DIRECTORY", "/var/lib/k:/var/lib/other", 1);
    setenv("CACHE_DIRECTORY", "/var/cache/k", 1);
    setenv("CREDENTIALS_DIRECTORY", credentials, 1);

    assert_int_equal(PARSE(&o, &e, NULL), OPTIONS_RUN);
    assert_string_equal(o.unix_path, "/run/k/kgraded.sock");
    assert_string_equal(o.store, "/var/lib/k/kgrade.db");
    assert_string_equal(o.cache, "/var/cache/k");
    assert_null(o.tokens);
    options_free(&o);
    /* A credential that is empty stands for none. */
    assert_return_code(io_write_file(tokens, "", 0, NULL), 0);
    assert_int_equal(PARSE(&o, &e, NULL), OPTIONS_RUN);
    assert_null(o.tokens);
    options_free(&o);
    assert_return_code(io_write_file(tokens, "\n", 1, NULL), 0);
    assert_int_equal(PARSE(&o, &e, NULL), OPTIONS_RUN);
    assert_null(o.tokens);
    options_free(&o);
    assert_return_code(io_write_file(tokens, "x\n", 2, NULL), 0);
    assert_int_equal(PARSE(&o, &e, NULL), OPTIONS_RUN);
    assert_string_equal(o.tokens, tokens);
    assert_true(o.tokens_from_manager);
    options_free(&o);
    assert_int_equal(PARSE(&o, &e, "--tokens", "/t", "--cache", "/c"), OPTIONS_RUN);
    assert_string_equal(o.tokens, "/t");
    assert_string_equal(o.cache, "/c");
    assert_false(o.tokens_from_manager);
    options_free(&o);

    places_forget_manager();
    assert_null(getenv("CREDENTIALS_DIRECTORY"));
    assert_null(getenv("STATE_DIRECTORY"));
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", "/srv/someone", 1);
    char *place = places_store(&e);
    assert_string_equal(place, "/srv/someone/.local/state/kgrade/kgrade.db");
    free(place);
    setenv("HOME", "/", 1);
    assert_null(places_store(&e));
    assert_non_null(strstr(e.hint, "--store"));
    setenv("XDG_STATE_HOME", folder, 1);

    snprintf(tokens, sizeof tokens, "%s/a/b/file", folder);
    assert_return_code(places_make_parent(tokens, false, &e), 0);
    snprintf(tokens, sizeof tokens, "%s/shared/file", folder);
    assert_return_code(places_make_parent(tokens, true, &e), 0);
    struct stat st;
    snprintf(tokens, sizeof tokens, "%s/shared", folder);
    assert_return_code(stat(tokens, &st), 0);
    assert_int_equal(st.st_mode & 0005, 0005);
    snprintf(tokens, sizeof tokens, "%s/a/b", folder);
    assert_return_code(stat(tokens, &st), 0);
    assert_int_equal(st.st_mode & 0077, 0);
    assert_int_equal(places_make_parent("/proc/nowhere/file", true, &e), -1);
    assert_return_code(places_make_parent("file", true, &e), 0);
}

static void test_reload(void **state)
{
    (void)state;
    struct server_options o;
    kgrade_error e;
    char restart[256] = "";
    write_config("queue = 10\nrate = 5\nmax-body = 4K\nlog-level = error\ndrain = 7\n");
    assert_int_equal(PARSE(&o, &e, "--drain", "3"), OPTIONS_RUN);
    char *listener = o.unix_path;

    /* The same again changes nothing, in particular not the defaults that came from the environment. */
    unsetenv("XDG_RUNTIME_DIR");
    assert_return_code(options_reload(&o, restart, sizeof restart, &e), 0);
    assert_string_equal(restart, "");
    assert_ptr_equal(o.unix_path, listener);
    assert_int_equal(o.queue, 10);

    /* What may change does; the command line still wins; what is gone from the file has its default. */
    write_config("queue = 11\nmax-body = 8K\ndrain = 9\nlisten = 127.0.0.1:9\nburst = 2\n");
    assert_return_code(options_reload(&o, restart, sizeof restart, &e), 0);
    assert_string_equal(restart, "listen, max-body");
    assert_int_equal(o.queue, 11);
    assert_int_equal(o.burst, 2);
    assert_int_equal(o.rate, 600);
    assert_int_equal(o.log_level, LOG_LEVEL_INFO);
    assert_int_equal(o.drain, 3);
    assert_int_equal(o.max_body, 4096);
    assert_null(o.listen);
    assert_ptr_equal(o.unix_path, listener);

    /* A mistake changes nothing. */
    write_config("queue = 12\nburst = 0\n");
    assert_int_equal(options_reload(&o, restart, sizeof restart, &e), -1);
    assert_string_equal(e.code, "config_invalid");
    assert_int_equal(o.queue, 11);
    assert_int_equal(o.burst, 2);
    char small[8] = "";
    write_config("listen = 127.0.0.1:9\nmax-body = 8K\nmax-connections = 5\n");
    assert_return_code(options_reload(&o, small, sizeof small, &e), 0);
    assert_string_equal(small, "listen,");
    options_free(&o);
    setenv("XDG_RUNTIME_DIR", folder, 1);
}

/* kgraded.conf and its manual page know every setting with its default. */
static void test_documents(void **state)
{
    (void)state;
    struct bytes conf, page;
    assert_return_code(io_read_file(KGRADE_SOURCE_DIR "/deploy/kgraded.conf", 1 << 20, &conf, NULL),
                       0);
    assert_return_code(
        io_read_file(KGRADE_SOURCE_DIR "/deploy/man/kgraded.conf.5", 1 << 20, &page, NULL), 0);
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *s = &settings[i];
        char line[96], entry[96];
        if (s->only_command)
            continue;
        if (s->kind == SETTING_SIZE)
            snprintf(line, sizeof line, "\n#%s = %lluM\n", s->name, s->preset >> 20);
        else if (s->kind == SETTING_NUMBER && s->preset)
            snprintf(line, sizeof line, "\n#%s = %llu\n", s->name, s->preset);
        else
            snprintf(line, sizeof line, "\n#%s = ", s->name);
        if (!strstr((char *)conf.data, line))
            fail_msg("kgraded.conf lacks '%s'", line + 1);
        snprintf(entry, sizeof entry, "\n.BI %s \" = ", s->name);
        if (!strstr((char *)page.data, entry))
            fail_msg("kgraded.conf.5 lacks '%s'", entry + 1);
    }
    bytes_free(&conf);
    bytes_free(&page);
}

/* kgraded.conf is right as it comes, and with every setting taken out of its comment but one of the two
 * listeners. */
static void test_example(void **state)
{
    (void)state;
    struct server_options o;
    kgrade_error e;
    struct bytes conf;
    const char *example = KGRADE_SOURCE_DIR "/deploy/kgraded.conf";
    assert_return_code(io_read_file(example, 1 << 20, &conf, NULL), 0);
    assert_return_code(io_write_file(path, conf.data, conf.size, NULL), 0);
    assert_int_equal(PARSE(&o, &e, NULL), OPTIONS_RUN);
    options_free(&o);
    for (char *at = (char *)conf.data; (at = strstr(at, "\n#"));) {
        at++;
        size_t length = strcspn(at, "\n");
        if (at[1] != ' ' && at[1] != '\n' && memmem(at, length, " = ", 3) &&
            strncmp(at, "#unix", 5) != 0)
            *at = ' ';
    }
    assert_return_code(io_write_file(path, conf.data, conf.size, NULL), 0);
    if (PARSE(&o, &e, NULL) != OPTIONS_RUN)
        fail_msg("%s", e.message);
    assert_string_equal(o.listen, SERVER_EXAMPLE_LISTEN);
    options_free(&o);
    bytes_free(&conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),    cmocka_unit_test(test_every_setting),
        cmocka_unit_test(test_limits),      cmocka_unit_test(test_config_mistakes),
        cmocka_unit_test(test_config_size), cmocka_unit_test(test_command_line),
        cmocka_unit_test(test_places),      cmocka_unit_test(test_reload),
        cmocka_unit_test(test_documents),   cmocka_unit_test(test_example),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
