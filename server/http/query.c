#define _GNU_SOURCE
#include "query.h"

#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "routes.h"

/* The longest way to write a number that is taken. */
#define MAX_NUMBER 24

struct check {
    const struct route *route;
    kgrade_error *err;
    const char *seen[8]; /* more than any route takes */
    unsigned n_seen;
    int failed;
};

static bool takes(const struct route *route, const char *name)
{
    size_t size = strlen(name);
    for (const char *p = route->query; p && *p; p = strchr(p, ' ') + 1)
        if (size && !strncmp(p, name, size) && p[size] == ' ')
            return true;
    return false;
}

static enum MHD_Result check_one(void *cls, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    (void)kind;
    (void)value;
    struct check *c = cls;
    if (!takes(c->route, name)) {
        c->failed =
            fail(c->err, "unknown_parameter", "GET /openapi.json tells what each path takes.",
                 "%s does not take the parameter \"%.100s\".", c->route->path, name);
        return MHD_NO;
    }
    for (unsigned i = 0; i < c->n_seen; i++) {
        if (!strcmp(c->seen[i], name)) {
            c->failed = fail(c->err, "invalid_parameter", "Give it once.",
                             "The parameter \"%.100s\" is given twice.", name);
            return MHD_NO;
        }
    }
    c->seen[c->n_seen++] = name;
    return MHD_YES;
}

int query_check(const struct request *r, kgrade_error *err)
{
    struct check check = {.route = r->route, .err = err};
    MHD_get_connection_values(r->mhd, MHD_GET_ARGUMENT_KIND, check_one, &check);
    return check.failed;
}

const char *query_text(const struct request *r, const char *name)
{
    return MHD_lookup_connection_value(r->mhd, MHD_GET_ARGUMENT_KIND, name);
}

/* Digits, and a point with digits behind it if `point`. */
static bool is_number(const char *text, bool point)
{
    size_t whole = strspn(text, "0123456789");
    size_t size = whole;
    if (point && whole && text[whole] == '.') {
        size_t part = strspn(text + whole + 1, "0123456789");
        size = part ? whole + 1 + part : 0;
    }
    return size && !text[size] && size <= MAX_NUMBER;
}

static int read_number(const struct request *r, const char *name, bool point, double least,
                       double most, double preset, double *ret, kgrade_error *err)
{
    const char *text = MHD_lookup_connection_value(r->mhd, MHD_GET_ARGUMENT_KIND, name);
    bool there = MHD_lookup_connection_value_n(r->mhd, MHD_GET_ARGUMENT_KIND, name, strlen(name),
                                               NULL, NULL) == MHD_YES;
    double value = there ? 0 : preset;
    bool good = !there || (text && is_number(text, point));
    if (there && good)
        value = strtod(text, NULL);
    if (!good || value < least || value > most)
        return fail(err, "invalid_parameter", NULL,
                    "The parameter \"%s\" takes a %s from %g to %g, not '%.40s'.", name,
                    point ? "decimal number" : "whole number", least, most, text ? text : "");
    *ret = value;
    return 0;
}

int query_number(const struct request *r, const char *name, double least, double most,
                 double preset, double *ret, kgrade_error *err)
{
    return read_number(r, name, true, least, most, preset, ret, err);
}

int query_count(const struct request *r, const char *name, unsigned least, unsigned most,
                unsigned preset, unsigned *ret, kgrade_error *err)
{
    double value = 0;
    if (read_number(r, name, false, least, most, preset, &value, err))
        return -1;
    *ret = (unsigned)value;
    return 0;
}

int query_wait(const struct request *r, unsigned preset_s, uint64_t *ret_until, kgrade_error *err)
{
    unsigned most = r->context->options->max_wait;
    double seconds = 0;
    if (query_number(r, "wait", 0, most, preset_s < most ? preset_s : most, &seconds, err))
        return -1;
    *ret_until = io_now() + (uint64_t)(seconds * (double)IO_NS_PER_S);
    return 0;
}
