#define _GNU_SOURCE
#include "value.h"

#include <math.h>
#include <time.h>

json_t *value_time(int64_t unix_ms)
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm utc;
    char date[32];
    if (unix_ms <= 0 || !gmtime_r(&seconds, &utc) ||
        !strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc))
        return json_null();
    return json_sprintf("%s.%03dZ", date, (int)(unix_ms % 1000));
}

json_t *value_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}
