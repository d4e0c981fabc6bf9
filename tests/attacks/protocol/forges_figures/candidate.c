/* Sends an answer with times that are negative, huge, lists of lists, and no recording. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    forge("{\"ok\":true,\"cold_ns\":-9223372036854775808,\"warm_ns\":[[1],{},null,1e308,-1e308,"
          "9223372036854775807]}");
}

ATTACK_THEN_NOTHING
