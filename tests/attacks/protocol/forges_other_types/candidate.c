/* Sends what is JSON but no message: lists, numbers, an answer that is neither yes nor no. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    forge("[{\"ok\":true}]");
    forge("{\"ok\":1,\"stage\":[\"warm\"]}");
    forge("{\"ok\":\"yes\"}");
}

ATTACK_THEN_NOTHING
