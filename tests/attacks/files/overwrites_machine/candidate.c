/* Opens compiler, libraries, loader's cache and the recorder itself for writing, and makes files beside them. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    static const char *const files[] = {"/usr/bin/cc",
                                        "/usr/bin/ld",
                                        "/bin/sh",
                                        "/proc/self/exe",
                                        "/proc/1/exe",
                                        "/etc/ld.so.cache",
                                        "/usr/lib/x86_64-linux-gnu/libc.so.6",
                                        "/usr/lib/x86_64-linux-gnu/libOpenCL.so.1"};
    static const char *const folders[] = {
        "/",       "/etc", "/usr", "/usr/lib", "/usr/bin", "/etc/OpenCL/vendors", "/usr/local/lib",
        "/var/tmp"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (open(files[i], O_WRONLY) >= 0)
            breach(files[i]);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/" PLANTED, folders[i]);
        if (open(path, O_CREAT | O_WRONLY, 0600) >= 0)
            breach(path);
    }
    if (open("/etc/ld.so.preload", O_WRONLY) >= 0)
        breach("/etc/ld.so.preload");
}

ATTACK_THEN_NOTHING
