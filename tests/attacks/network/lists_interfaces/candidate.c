/* Looks for the machine's network interfaces, and switches the loopback on. */
#define _GNU_SOURCE
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../../attack.h"

static void attack(void)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    for (int i = 1; fd >= 0 && i < 256; i++) {
        struct ifreq r;
        r.ifr_ifindex = i;
        if (ioctl(fd, SIOCGIFNAME, &r) == 0 && strcmp(r.ifr_name, "lo"))
            breach(r.ifr_name);
    }
    struct ifreq up;
    memcpy(up.ifr_name, "lo", sizeof "lo");
    up.ifr_flags = IFF_UP;
    if (fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &up) == 0)
        breach("lo is up");
}

ATTACK_THEN_NOTHING
