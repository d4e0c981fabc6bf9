/* Sends datagrams to the machine and connects over IPv6. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "../../attack.h"

static int sends_datagram(void)
{
    struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    return fd >= 0 && sendto(fd, "x", 1, 0, (struct sockaddr *)&in, sizeof in) == 1;
}

static int connects_over_ipv6(void)
{
    struct sockaddr_in6 in = {
        .sin6_family = AF_INET6, .sin6_port = htons(PORT), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    return fd >= 0 && connect(fd, (struct sockaddr *)&in, sizeof in) == 0;
}

static void attack(void)
{
    attempt("UDP", sends_datagram);
    attempt("IPv6", connects_over_ipv6);
}

ATTACK_THEN_NOTHING
