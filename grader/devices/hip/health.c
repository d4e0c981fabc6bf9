#define _GNU_SOURCE
#include "health.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"

#define AMD_VENDOR "0x1002"
#define MAX_PATH 512

static bool read_text(const char *path, char *ret, size_t size)
{
    cleanup_file FILE *file = fopen(path, "re");
    size_t n = file ? fread(ret, 1, size - 1, file) : 0;
    ret[n] = '\0';
    return n > 0;
}

/* The only render node of AMD's: ROOT/class/drm/renderD128. */
static bool find_card(const char *root, char ret[MAX_PATH])
{
    char pattern[MAX_PATH], path[MAX_PATH + 32], vendor[32];
    glob_t found;
    size_t n = 0;
    snprintf(pattern, sizeof pattern, "%.200s/class/drm/renderD*", root);
    if (glob(pattern, 0, NULL, &found))
        return false;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        snprintf(path, sizeof path, "%.400s/device/vendor", found.gl_pathv[i]);
        if (!read_text(path, vendor, sizeof vendor) ||
            strncmp(vendor, AMD_VENDOR, strlen(AMD_VENDOR)))
            continue;
        snprintf(ret, MAX_PATH, "%.400s/device", found.gl_pathv[i]);
        n++;
    }
    globfree(&found);
    return n == 1;
}

/* "0: 500Mhz\n1: 1700Mhz *\n" -> 1700 */
static void add_clock(json_t *health, const char *card, const char *file, const char *key)
{
    char path[MAX_PATH + 64], text[4096], *rest;
    snprintf(path, sizeof path, "%s/%s", card, file);
    if (!read_text(path, text, sizeof text))
        return;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *colon = strchr(line, ':');
        if (colon && strchr(line, '*'))
            json_object_set_new(health, key, json_integer(strtol(colon + 1, NULL, 10)));
    }
}

static void add_number(json_t *health, const char *pattern, const char *key, long divide)
{
    glob_t found;
    char text[64];
    if (glob(pattern, 0, NULL, &found))
        return;
    if (found.gl_pathc && read_text(found.gl_pathv[0], text, sizeof text))
        json_object_set_new(health, key, json_integer(strtol(text, NULL, 10) / divide));
    globfree(&found);
}

json_t *health_read(const char *root)
{
    static const struct {
        const char *file, *key;
        long divide;
    } numbers[] = {
        {"hwmon/hwmon*/temp1_input", "temperature_c", 1000}, /* thousandths of a degree */
        {"hwmon/hwmon*/power1_average", "power_mw", 1000},   /* microwatts */
        {"gpu_busy_percent", "busy_percent", 1},
    };
    char card[MAX_PATH], pattern[MAX_PATH + 64];
    json_t *health = json_object();
    if (!health || !find_card(root, card))
        return health;
    add_clock(health, card, "pp_dpm_sclk", "sm_clock_mhz");
    add_clock(health, card, "pp_dpm_mclk", "memory_clock_mhz");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        snprintf(pattern, sizeof pattern, "%s/%s", card, numbers[i].file);
        add_number(health, pattern, numbers[i].key, numbers[i].divide);
    }
    return health;
}
