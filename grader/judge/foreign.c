#include "foreign.h"

#include <string.h>

static int bring_home(const struct foreign *f, struct snapshot *s, kgrade_error *err)
{
    if (on_device_bring(&f->device, &s->c, s->kept_whole, &s->data, err))
        return -1;
    on_device_drop(&f->device, s->kept_whole);
    s->kept_whole = 0;
    return 0;
}

/* After a failure: 0 when it was want of memory, about which everything has been done; else -1 with the failure. */
static int make_room(struct foreign *f, const kgrade_error *failure, kgrade_error *err)
{
    if (strcmp(failure->code, "judge_memory") != 0) {
        *err = *failure;
        return -1;
    }
    f->no_room = true;
    for (size_t i = 0; i < JUDGE_MAX_SNAPSHOTS; i++)
        if (f->snapshots[i].kept_whole && bring_home(f, &f->snapshots[i], err))
            return -1;
    return f->device.memory->trim(f->device.state, err);
}

int foreign_fill(struct foreign *f, const struct judge_case *c, kgrade_error *err)
{
    kgrade_error failure = {.code = ""};
    if (!on_device_fill(&f->device, c, &failure))
        return 0;
    return make_room(f, &failure, err) ? -1 : on_device_fill(&f->device, c, err);
}

int foreign_keep(struct foreign *f, struct snapshot *s, kgrade_error *err)
{
    kgrade_error failure = {.code = ""};
    if (f->no_room || !on_device_keep(&f->device, &s->c, &s->kept_whole, &failure))
        return 0;
    return make_room(f, &failure, err);
}

int foreign_compare(struct foreign *f, struct snapshot *s, struct comparison *ret,
                    bool *ret_decided, bool *ret_right, kgrade_error *err)
{
    struct on_device_verdict verdict;
    kgrade_error failure = {.code = ""};
    if (on_device_judge(&f->device, &s->c, s->kept_whole, ret, &verdict, &failure))
        return make_room(f, &failure, err);
    s->input_changed = verdict.input_changed;
    *ret_decided = verdict.decided;
    *ret_right = verdict.right;
    return 0;
}
