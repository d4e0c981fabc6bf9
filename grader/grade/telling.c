#include "telling.h"

bool telling_tell(struct telling *t, const char *step, size_t done, size_t total)
{
    t->step = step;
    t->done = (unsigned)done;
    t->total = (unsigned)total;
    if (t->progress && !t->progress(t->data, step, t->done, t->total))
        t->cancelled = true;
    return !t->cancelled;
}

int telling_proceed(struct telling *t, const char *step, size_t done, size_t total,
                    struct finding *finding)
{
    return telling_tell(t, step, done, total) ? 0 : telling_cancelled(t, finding);
}

int telling_cancelled(const struct telling *t, struct finding *finding)
{
    return finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, "cancelled", NULL, "%s was cancelled.",
                       t->what);
}

bool telling_again(void *telling)
{
    struct telling *t = telling;
    return !t->step || telling_tell(t, t->step, t->done, t->total);
}
