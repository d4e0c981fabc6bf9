/* Leaves folders without permissions, names with line breaks, pipes, sockets and links that lead nowhere. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    if (chdir("/tmp"))
        return;
    mkdir(PLANTED "-dir", 0700);
    mkdir(PLANTED "-dir/inner", 0700);
    close(open(PLANTED "-dir/inner/file", O_CREAT | O_WRONLY, 0));
    mkfifo(PLANTED "-dir/pipe", 0);
    mkfifo(PLANTED "\n\r\033[2J", 0600);
    mkfifo("-rf", 0600);
    if (symlink(PLANTED "-loop", PLANTED "-loop") || symlink("/", PLANTED "-dir/root"))
        return;
    chmod(PLANTED "-dir/inner", 0);
    chmod(PLANTED "-dir", 0);
}

ATTACK_THEN_NOTHING
