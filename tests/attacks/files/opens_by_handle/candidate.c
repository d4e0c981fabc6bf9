/* Opens a file by its handle, which needs no path and so passes every root. */
#define _GNU_SOURCE
#include "../../attack.h"

static int by_handle(void)
{
    struct {
        struct file_handle head;
        unsigned char bytes[128];
    } handle;
    static const char *const places[] = {"/tmp", "/usr", "/"};
    int mount;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int at = open(places[i], O_RDONLY | O_DIRECTORY);
        handle.head.handle_bytes = sizeof handle.bytes;
        if (name_to_handle_at(AT_FDCWD, places[i], &handle.head, &mount, 0) == 0 &&
            open_by_handle_at(at, &handle.head, O_RDONLY) >= 0)
            return 1;
    }
    return 0;
}

static void attack(void)
{
    attempt("open_by_handle_at", by_handle);
}

ATTACK_THEN_NOTHING
