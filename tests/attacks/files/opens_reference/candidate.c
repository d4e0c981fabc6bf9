/* Looks for the reference, the task's folder and a secret file of the operator's. */
#define _GNU_SOURCE

#include "../../attack.h"

static void attack(void)
{
    static const char *const paths[] = {"/reference.so",
                                        "/proc/1/root/reference.so",
                                        TASKS "/vector_add/reference.c",
                                        SECRET_FILE,
                                        "/etc/shadow",
                                        "/proc/1/root" SECRET_FILE,
                                        "/recording"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (open(paths[i], O_RDONLY) >= 0)
            breach(paths[i]);
}

ATTACK_THEN_NOTHING
