/* Parquet, read by a Python that has pyarrow: it hands over lines of JSON. */
#ifndef KGRADE_REGRADE_PARQUET_H
#define KGRADE_REGRADE_PARQUET_H

#include <stdio.h>
#include <sys/types.h>

#include "kgrade/error.h"

struct parquet {
    FILE *lines; /* one object for each row */
    pid_t pid;
};

/* Starts $KGRADE_PYTHON, else python3.  Errors: `no_pyarrow`, `file_unreadable`. */
int parquet_open(const char *path, struct parquet *ret, kgrade_error *err);

/* Ends the process; -1 where it had not delivered all.  err NULL: that does not matter. */
int parquet_close(struct parquet *parquet, kgrade_error *err);

#endif
