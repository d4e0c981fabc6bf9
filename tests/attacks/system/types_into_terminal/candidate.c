/* Types into the operator's terminal with TIOCSTI. */
#define _GNU_SOURCE
#include <sys/ioctl.h>

#include "../../attack.h"

static int types(void)
{
    int terminal = open("/dev/tty", O_RDWR);
    if (terminal >= 0)
        return 1;
    for (int fd = 0; fd < 16; fd++)
        if (ioctl(fd, TIOCSTI, "x") == 0 || (isatty(fd) && ioctl(fd, TIOCLINUX, "x") == 0))
            return 1;
    return 0;
}

static void attack(void)
{
    attempt("terminal", types);
}

ATTACK_THEN_NOTHING
