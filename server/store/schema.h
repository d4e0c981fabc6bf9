/*
 * The tables of the store and how they came to be: a database of version n has had the first n steps
 * applied.  A published step is never changed; a change of the tables is a further step.
 */
#ifndef KGRADED_SCHEMA_H
#define KGRADED_SCHEMA_H

#include <sqlite3.h>

#include "../../sandbox/base/error.h"

/* Marks a file as a database of kgraded ("kgrd"). */
#define SCHEMA_APPLICATION_ID 0x6b677264

/* steps[i] leads from version i to i + 1. */
struct schema {
    const char *const *steps;
    unsigned n_steps;
};
extern const struct schema store_schema;

/* Brings a database to the schema's version, each step in a transaction of its own; an empty one
 * begins at version 0.  Errors: `store_newer`, `store_damaged`, `store_failed`. */
int schema_migrate(sqlite3 *db, const char *path, const struct schema *schema, kgrade_error *err);

#endif
