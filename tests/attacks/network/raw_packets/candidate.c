/* Opens sockets for raw packets and the virtual machine's host. */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "../../attack.h"

static int opens(void)
{
    return socket(AF_PACKET, SOCK_RAW, 0x0300) >= 0 || socket(AF_INET, SOCK_RAW, 1) >= 0 ||
           socket(40 /* AF_VSOCK */, SOCK_STREAM, 0) >= 0 ||
           socket(38 /* AF_ALG */, SOCK_SEQPACKET, 0) >= 0;
}

static void attack(void)
{
    attempt("raw socket", opens);
}

ATTACK_THEN_NOTHING
