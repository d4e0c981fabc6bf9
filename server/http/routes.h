/* The paths that kgraded serves. */
#ifndef KGRADED_ROUTES_H
#define KGRADED_ROUTES_H

#include <stddef.h>

#include "request.h"

enum route_flags {
    ROUTE_OPEN = 1, /* needs no token */
    ROUTE_BODY = 2, /* takes a body */
};

struct route {
    const char *method; /* "GET" stands for HEAD as well */
    const char *path;   /* one part of it may be a {parameter} */
    const char *summary;
    /* Called with the whole request, and again after each sleep. */
    enum MHD_Result (*serve)(struct request *r);
    unsigned flags;
    const char *query; /* names of the query's parameters, a space after each; NULL: none */
};

/* All of them; ends with a NULL method. */
extern const struct route routes[];

/* The route of a path and method; when only the method does not fit, *ret_other is one of the same
 * path.  *ret_parameter points into path, and the parameter has *ret_size bytes. */
const struct route *route_find(const char *path, const char *method, const char **ret_parameter,
                               size_t *ret_size, const struct route **ret_other);

/* What the Allow header of the route's path says. */
#define ROUTE_ALLOW_SIZE 64
const char *route_allow(const struct route *route, char ret[ROUTE_ALLOW_SIZE]);

#endif
