/* The filters of all policies, for a group of tests. */
#ifndef FILTER_HELP_H
#define FILTER_HELP_H

#include "sandbox/filter.h"
#include "sandbox_help.h"

#define N_POLICIES (JAIL_JUDGE + 1)

static struct filter filters[N_POLICIES];

static inline int compile_all(void **state)
{
    (void)state;
    for (int p = 0; p < N_POLICIES; p++) {
        kgrade_error err = {0};
        if (filter_compile((enum jail_policy)p, &filters[p], &err)) {
            print_message("%s\n", err.message);
            return -1;
        }
    }
    return 0;
}

static inline int free_all(void **state)
{
    (void)state;
    for (int p = 0; p < N_POLICIES; p++)
        filter_free(&filters[p]);
    return 0;
}

#endif
