/*
 * The replayer gives up, for good, what could carry work of a kernel beyond its end.
 *
 * On a CPU a kernel is native code of the replaying process.  A process or thread that it starts, or a handler for a
 * signal that comes later, would compute ahead while the inputs of the next replay are drawn, or finish late, when
 * the clock has stopped.  A second filter refuses both, for all threads of the process, from before the first
 * instruction of a candidate until its end; the filter of the jail holds beside it.
 */
#ifndef KGRADE_OPENCL_CONFINE_H
#define KGRADE_OPENCL_CONFINE_H

#include "../../../sandbox/base/error.h"

/* From here on the calls of the table in confine.c end the process by SIGSYS, and crashes by their own signals.  The
 * runtime must have its threads by now.  -1 with `confine_failed`. */
int confine(kgrade_error *err);

#endif
