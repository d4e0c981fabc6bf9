/* JSON values that the server writes in more than one place. */
#ifndef KGRADED_VALUE_H
#define KGRADED_VALUE_H

#include <jansson.h>
#include <stdint.h>

/* RFC 3339 in UTC with milliseconds; null for 0. */
json_t *value_time(int64_t unix_ms);

/* null unless finite */
json_t *value_number(double value);

#endif
