/* The paths that kgraded serves. */
#ifndef KGRADED_ROUTES_H
#define KGRADED_ROUTES_H

#include "kgrade/kgrade.h"
#include "../jobs/queue.h"

struct route_context {
    kgrade *engine;
    struct queue *queue;
};

struct route {
    const char *method; /* "GET" stands for HEAD as well */
    const char *path;   /* may end in a {parameter} */
    const char *summary;
    /* The answer as JSON, to be freed, in *ret; NULL for the path that takes a body. */
    int (*answer)(const struct route_context *context, const char *parameter, char **ret,
                  kgrade_error *err);
};

/* All of them; ends with a NULL method. */
extern const struct route routes[];

/* NULL when there is no such path.  *ret_parameter points into path. */
const struct route *route_find(const char *path, const char **ret_parameter);

/* What the path's Allow header says. */
const char *route_allow(const struct route *route);

#endif
