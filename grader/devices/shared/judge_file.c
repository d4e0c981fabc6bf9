/* The judge of a device whose replayer hands out a memory file for its arena: mapped read-only.  KGRADE_DEVICE: the device's
 * name. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../../../sandbox/base/fail.h"
#include "../../judge/worker.h"

struct view {
    const uint8_t *data;
    uint64_t bytes;
};

static int attach(int arena_fd, bool fills, void **ret_state, kgrade_error *err)
{
    (void)fills; /* there is no `memory` */
    static struct view view;
    struct stat st;
    /* The seal: a file that could shrink would turn a read into SIGBUS. */
    int seals = fcntl(arena_fd, F_GET_SEALS);
    if (fstat(arena_fd, &st) || seals < 0 || !(seals & F_SEAL_SHRINK) || st.st_size <= 0)
        return fail(err, "arena_failed", NULL, "The arena is not a sealed memory file.");
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, arena_fd, 0);
    if (data == MAP_FAILED)
        return fail_errno(err, "arena_failed", NULL, "The arena could not be mapped");
    view = (struct view){data, (uint64_t)st.st_size};
    *ret_state = &view;
    return 0;
}

static int read_arena(void *state, uint64_t offset, uint64_t bytes, void *to, kgrade_error *err)
{
    const struct view *view = state;
    if (offset > view->bytes || bytes > view->bytes - offset)
        return fail(err, "arena_failed", NULL, "The arena is smaller than the case.");
    memcpy(to, view->data + offset, (size_t)bytes);
    return 0;
}

static void detach(void *state)
{
    const struct view *view = state;
    munmap((void *)(uintptr_t)view->data, (size_t)view->bytes);
}

const struct judge_device judge_this_device = {
    .name = KGRADE_DEVICE, .attach = attach, .read = read_arena, .detach = detach};
