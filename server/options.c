#define _GNU_SOURCE
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sandbox/base/fail.h"
#include "config.h"
#include "places.h"
#include "settings.h"

enum { MAX_SETTINGS = 40, FIRST_SETTING = 256, OPTION_VERSION };

/* What one source of settings says. */
struct layer {
    struct server_options values;
    unsigned line[MAX_SETTINGS]; /* where each was set, from 1; 0: it was not */
};

void options_free(struct server_options *o)
{
    for (size_t i = 0; i < settings_count; i++) {
        if (settings[i].kind != SETTING_TEXT)
            continue;
        char **slot = setting_text(&settings[i], o);
        free(*slot);
        *slot = NULL;
    }
}

static void layer_free(struct layer *layer)
{
    options_free(&layer->values);
}

static int unknown_setting(const char *name, kgrade_error *err)
{
    char hint[sizeof err->hint] = "The settings are";
    for (size_t i = 0; i < settings_count; i++) {
        size_t used = strlen(hint);
        if (!settings[i].only_command)
            snprintf(hint + used, sizeof hint - used, " %s", settings[i].name);
    }
    size_t used = strlen(hint);
    snprintf(hint + used, sizeof hint - used, ".");
    return fail(err, "config_invalid", hint, "there is no setting '%.100s'.", name);
}

static int set_from_file(void *data, const char *name, const char *value, unsigned line,
                         kgrade_error *err)
{
    struct layer *layer = data;
    const struct setting *setting = setting_find(name);
    if (!setting)
        return unknown_setting(name, err);
    if (setting->only_command)
        return fail(err, "config_invalid", NULL, "%s is for the command line only.", name);
    unsigned *set = &layer->line[setting - settings];
    if (*set)
        return fail(err, "config_invalid", "Remove one of the two lines.",
                    "%s is set in line %u already.", name, *set);
    *set = line;
    return setting_set(setting, "", value, &layer->values, err);
}

/* Everything from the command line but --help and --version, which end it. */
static enum options_outcome read_command(int argc, char **argv, struct layer *layer,
                                         kgrade_error *err)
{
    struct option words[MAX_SETTINGS + 3] = {{0}};
    size_t n = 0;
    for (; n < settings_count; n++)
        words[n] = (struct option){settings[n].name, required_argument, NULL, FIRST_SETTING};
    words[n++] = (struct option){"help", no_argument, NULL, 'h'};
    words[n++] = (struct option){"version", no_argument, NULL, OPTION_VERSION};

    opterr = 0;
    optind = 0; /* from the beginning, also when it has been read before */
    for (;;) {
        int word = optind ? optind : 1;
        int index = 0;
        int option = getopt_long(argc, argv, "+:h", words, &index);
        if (option == -1)
            break;
        if (option == 'h')
            return OPTIONS_HELP;
        if (option == OPTION_VERSION)
            return OPTIONS_VERSION;
        if (option == '?' || option == ':') {
            fail(err, "usage", SETTINGS_HINT, "'%.100s' %s", argv[word],
                 option == ':' ? "needs a value." : "is not an option of kgraded.");
            return OPTIONS_BAD;
        }
        layer->line[index] = 1;
        if (setting_set(&settings[index], "--", optarg, &layer->values, err))
            return OPTIONS_BAD;
    }
    if (optind < argc) {
        fail(err, "usage", SETTINGS_HINT, "'%.100s' is one word too many.", argv[optind]);
        return OPTIONS_BAD;
    }
    return OPTIONS_RUN;
}

static unsigned line_of(const struct layer *layer, const char *name)
{
    return layer->line[setting_find(name) - settings];
}

static int read_file(const struct server_options *command, struct layer *file, kgrade_error *err)
{
    const char *path = command->config ? command->config : PLACES_CONFIG;
    int r = config_read(path, set_from_file, file, err);
    if (r < 0)
        return -1;
    if (r > 0 && command->config)
        return fail(err, "config_unreadable", NULL, "There is no file %.300s.", path);
    if (r == 0 && !(file->values.config = strdup(path)))
        return fail(err, "out_of_memory", NULL, "There is no memory for the settings.");
    unsigned listen = line_of(file, "listen"), local = line_of(file, "unix");
    if (listen && local)
        return fail(err, "config_invalid", "Keep one of the two.",
                    "%.300s:%u: listen and unix exclude each other.", path,
                    listen > local ? listen : local);
    return 0;
}

/* What the setting is taken from; NULL: neither. */
static struct layer *source_of(size_t index, struct layer *command, struct layer *file)
{
    const char *name = settings[index].name;
    bool is_listener = !strcmp(name, "listen") || !strcmp(name, "unix");
    /* The layer of the file knows which file it is. */
    if (!strcmp(name, "config"))
        return file;
    if (command->line[index])
        return command;
    if (is_listener && (line_of(command, "listen") || line_of(command, "unix")))
        return NULL;
    return file->line[index] ? file : NULL;
}

/* Moves to *o what each setting is after all. */
static void merge(struct layer *command, struct layer *file, struct server_options *o)
{
    for (size_t i = 0; i < settings_count; i++) {
        struct layer *source = source_of(i, command, file);
        setting_preset(&settings[i], o);
        if (source)
            setting_swap(&settings[i], o, &source->values);
    }
}

static int add_places(struct server_options *o, kgrade_error *err)
{
    if (!o->listen && !o->unix_path) {
        o->default_listener = true;
        o->unix_path = places_socket(err);
        if (!o->unix_path)
            return -1;
    }
    if (!o->store && !(o->store = places_store(err)))
        return -1;
    if (!o->cache)
        o->cache = places_cache();
    if (!o->tokens) {
        o->tokens = places_tokens();
        o->tokens_from_manager = o->tokens != NULL;
    }
    return 0;
}

static int complete(struct server_options *o, kgrade_error *err)
{
    if (o->max_buffered < o->max_body)
        return fail(err, "usage", SETTINGS_HINT,
                    "max-buffered (%zu) must have room for one max-body (%zu).", o->max_buffered,
                    o->max_body);
    if (!o->max_per_address)
        o->max_per_address = o->max_connections;
    return 0;
}

/* All but the places. */
static enum options_outcome read_layers(int argc, char **argv, struct server_options *o,
                                        kgrade_error *err)
{
    __attribute__((cleanup(layer_free))) struct layer command = {0}, file = {0};
    enum options_outcome outcome = read_command(argc, argv, &command, err);
    if (outcome != OPTIONS_RUN)
        return outcome;
    if (line_of(&command, "listen") && line_of(&command, "unix")) {
        fail(err, "usage", "Keep one of the two.", "--listen and --unix exclude each other.");
        return OPTIONS_BAD;
    }
    if (read_file(&command.values, &file, err))
        return OPTIONS_BAD;
    merge(&command, &file, o);
    return complete(o, err) ? OPTIONS_BAD : OPTIONS_RUN;
}

enum options_outcome options_parse(int argc, char **argv, struct server_options *ret,
                                   kgrade_error *err)
{
    struct server_options o = {.argc = argc, .argv = argv};
    enum options_outcome outcome = read_layers(argc, argv, &o, err);
    if (outcome == OPTIONS_RUN && add_places(&o, err))
        outcome = OPTIONS_BAD;
    if (outcome == OPTIONS_RUN)
        *ret = o;
    else
        options_free(&o);
    return outcome;
}

/* Whether the setting is what only add_places has given. */
static bool is_from_places(const struct setting *s, const struct server_options *now,
                           const struct server_options *then)
{
    if (s->kind != SETTING_TEXT || *setting_text(s, then))
        return false;
    return !strcmp(s->name, "unix")     ? now->default_listener
           : !strcmp(s->name, "tokens") ? now->tokens_from_manager
                                        : true;
}

int options_reload(struct server_options *o, char *ret_restart, size_t size, kgrade_error *err)
{
    struct server_options then = {0};
    if (read_layers(o->argc, o->argv, &then, err) != OPTIONS_RUN) {
        options_free(&then);
        return -1;
    }
    size_t used = 0;
    ret_restart[0] = 0;
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *s = &settings[i];
        if (setting_same(s, o, &then) || is_from_places(s, o, &then))
            continue;
        if (s->reload)
            setting_swap(s, o, &then);
        else if (used < size)
            used += (size_t)snprintf(ret_restart + used, size - used, "%s%s", used ? ", " : "",
                                     s->name);
    }
    options_free(&then);
    return 0;
}

void options_help(void)
{
    static const char *const titles[] = {
        "Where it listens, what it serves, what it keeps:",
        "Sharing; times are in seconds:",
        "Limits; sizes take the suffixes K, M and G:",
        "Other:",
    };
    printf(
        "Usage: kgraded [--SETTING VALUE]...\n"
        "       kgraded token NAME [--role agent|operator] [--file FILE]\n"
        "Serves the grading of GPU kernels over HTTP.  Each setting may also stand in a file, as\n"
        "\"setting = value\"; the default is in parentheses.\n");
    for (size_t group = 0; group < sizeof titles / sizeof titles[0]; group++) {
        printf("\n%s\n", titles[group]);
        for (size_t i = 0; i < settings_count; i++)
            if (settings[i].group == (enum setting_group)group)
                setting_help(&settings[i]);
    }
    printf("  --help, --version\n"
           "\n"
           "SIGHUP reads file, tokens and tasks again.  SIGTERM and SIGINT finish what runs and "
           "then\n"
           "end the server; a second one ends it now.\n"
           "Exit status: 0 ended as asked, 2 usage, 3 something that kgraded needs is missing or "
           "failed.\n");
}
