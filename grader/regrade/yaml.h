/* Descriptions in YAML. */
#ifndef KGRADE_REGRADE_YAML_H
#define KGRADE_REGRADE_YAML_H

#include <jansson.h>

#include "kgrade/error.h"

/* Limits of a description. */
#define REGRADE_MAX_YAML_BYTES (4u << 20)
#define REGRADE_MAX_YAML_DEPTH 32u
#define REGRADE_MAX_YAML_NODES 100000u

/* Reads a YAML file of one document as JSON, a new reference: plain scalars that look like numbers or truth values become such, tags are
 * not looked at, aliases are refused.  Errors: `file_unreadable`, `file_too_large`, `bad_board` with the line. */
int regrade_read_yaml(const char *path, json_t **ret, kgrade_error *err);

#endif
