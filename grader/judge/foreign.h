/*
 * A foreign task's samples where the device has memory for the judge.  Once it had none left, for the judge or for the task's Python,
 * everything that is kept there is brought home, and later samples are kept on the host from the start: what is freed is for the task's
 * Python, which works on the device still.  Inputs are made in the arena in either case.
 */
#ifndef KGRADE_JUDGE_FOREIGN_H
#define KGRADE_JUDGE_FOREIGN_H

#include "on_device.h"
#include "snapshot.h"

struct foreign {
    struct on_device device;
    struct snapshot *snapshots; /* JUDGE_MAX_SNAPSHOTS of them; borrowed */
    bool no_room;               /* the device had none */
};

/* Makes a sample's inputs in the arena; where the device has no room, once more when there is as much as there can be. */
int foreign_fill(struct foreign *f, const struct judge_case *c, kgrade_error *err);

/* Keeps a sample's case; s->kept_whole 0: it is not on the device, and still in the arena. */
int foreign_keep(struct foreign *f, struct snapshot *s, kgrade_error *err);

/* Judges a sample that is on the device.  s->kept_whole 0 afterwards: there was no room, nothing is decided, and it is in s->data. */
int foreign_compare(struct foreign *f, struct snapshot *s, struct comparison *ret,
                    bool *ret_decided, bool *ret_right, kgrade_error *err);

#endif
