/* Makes a 32-bit system call, past a filter that knows only 64-bit ones. */
#include "../../attack.h"

static void attack(void)
{
    long pid = 20; /* getpid of i386 */
    __asm__ volatile("int $0x80" : "+a"(pid)::"memory");
    if (pid > 0)
        breach("int 0x80");
}

ATTACK_THEN_NOTHING
