/* Makes new namespaces of each kind with unshare, to be privileged in them. */
#define _GNU_SOURCE
#include <sched.h>

#include "../../attack.h"

static int flag;

static int unshares(void)
{
    return unshare(flag) == 0;
}

static void attack(void)
{
    static const int flags[] = {
        CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,    CLONE_NEWNET,
        CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        flag = flags[i];
        attempt("unshare", unshares);
    }
}

ATTACK_THEN_NOTHING
