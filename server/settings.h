/* The table of kgraded's settings: what each is called, takes and is good for. */
#ifndef KGRADED_SETTINGS_H
#define KGRADED_SETTINGS_H

#include "options.h"

enum setting_kind { SETTING_TEXT, SETTING_NUMBER, SETTING_SIZE, SETTING_CHOICE };
enum setting_group { SETTING_PLACE, SETTING_SHARE, SETTING_LIMIT, SETTING_OTHER };

struct setting {
    const char *name; /* "queue-per-owner", in the file and after "--" */
    enum setting_kind kind;
    enum setting_group group;
    bool reload;                            /* may change while kgraded runs */
    bool only_command;                      /* not for the file */
    size_t offset;                          /* within struct server_options */
    size_t width;                           /* bytes of the member */
    unsigned long long least, most, preset; /* of NUMBER and SIZE; the preset of CHOICE */
    const char
        *argument;     /* "N"; for CHOICE the names, "full|reduced", in the order of the values */
    const char *text;  /* for --help; lines end in \n but the last */
    const char *shown; /* the default as --help tells it; NULL: the preset */
};

#define SETTINGS_HINT "kgraded --help lists the settings; kgraded.conf(5) explains them."

extern const struct setting settings[];
extern const size_t settings_count;

/* NULL when there is none. */
const struct setting *setting_find(const char *name);

/* Sets what the table says for a setting that is not given. */
void setting_preset(const struct setting *setting, struct server_options *o);

/* Sets it to what text says.  prefix is "--" or "", for the message.  Error: `usage`. */
int setting_set(const struct setting *setting, const char *prefix, const char *text,
                struct server_options *o, kgrade_error *err);

/* Where a setting of kind TEXT has its string, which belongs to o. */
char **setting_text(const struct setting *setting, const struct server_options *o);

/* Whether the two agree in it. */
bool setting_same(const struct setting *setting, const struct server_options *a,
                  const struct server_options *b);

/* Exchanges it between the two. */
void setting_swap(const struct setting *setting, struct server_options *a,
                  struct server_options *b);

/* Its lines of --help, on stdout. */
void setting_help(const struct setting *setting);

#endif
