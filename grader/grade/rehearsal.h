/*
 * Rehearsals: what a candidate in Python compiles when its kernels are first called is compiled before the device is taken.
 *
 * The calls are made in a jail like a recorder's that has no device in it, on tensors without memory (devices/cuda/rehearse.py).
 * That is work for processors, which may go on beside another grade, as builds do.  What comes of it, the files of Triton's cache and
 * of PyTorch's extensions, is unpacked in the recorders before the candidate is loaded there; the grader never looks into it.
 *
 * The hidden cases have a rehearsal of their own, and what it leaves goes to their recorder only: nothing that has heard of hidden dims
 * comes near a process from which the author is told anything.  That of the public cases goes to both recorders; it has seen what the
 * author knows.  In what it leaves a candidate can put whatever it likes, for a process in which it will run anyway.
 */
#ifndef KGRADE_REHEARSAL_H
#define KGRADE_REHEARSAL_H

#include "state.h"

/* Whether the candidate is one to rehearse. */
bool rehearsal_is_due(const struct grade *g);

/* Rehearses the public cases for g->seeds[0], the hidden ones for g->seeds[1], side by side.  Whatever fails leaves a seed empty; but
 * -1 with the grade's finding when an extension does not compile, as the recorder would have found out while it held the device. */
int rehearsal_run(struct grade *g);

#endif
