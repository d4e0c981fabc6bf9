#define _GNU_SOURCE
#include "landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"

/* The kernel's names, spelled out: installed headers are often older than the kernel. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

enum {
    CREATE_RULESET_VERSION = 1,
    RULE_PATH_BENEATH = 1,
};

#define FS_EXECUTE (1ull << 0)
#define FS_WRITE_FILE (1ull << 1)
#define FS_READ_FILE (1ull << 2)
#define FS_READ_DIR (1ull << 3)
#define FS_ABI_1 ((1ull << 13) - 1)
#define FS_REFER (1ull << 13)     /* ABI 2 */
#define FS_TRUNCATE (1ull << 14)  /* ABI 3 */
#define FS_IOCTL_DEV (1ull << 15) /* ABI 5 */
#define NET_TCP 3ull              /* ABI 4: bind and connect */
#define SCOPES 3ull               /* ABI 6: abstract sockets and signals */

#define FS_READING (FS_EXECUTE | FS_READ_FILE | FS_READ_DIR)
#define FS_OF_FILES (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)

struct ruleset_attr {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

struct path_beneath_attr {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

static const char setup_code[] = "jail_setup_failed";

int landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
    return abi > 0 ? (int)abi : 0;
}

static int allow(int ruleset, const char *path, uint64_t access, bool optional, kgrade_error *err)
{
    cleanup_close int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0 && optional)
        return 0;
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return fail_errno(err, setup_code,
                          "At the reduced level the folders above it must be searchable for the "
                          "jail's user.",
                          "%s cannot be given to the jail", path);
    if (!S_ISDIR(st.st_mode))
        access &= FS_OF_FILES;
    struct path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
    if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0))
        return fail_errno(err, setup_code, NULL, "Landlock does not take %s", path);
    return 0;
}

static int allow_all(int ruleset, uint64_t all, const struct jail_spec *spec, const char *scratch,
                     kgrade_error *err)
{
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                          "/dev/urandom"};
    const uint64_t device = (FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | FS_IOCTL_DEV) & all;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (allow(ruleset, devices[i], device, false, err))
            return -1;
    /* Names of one's own threads are written below /proc/self. */
    if (allow(ruleset, "/proc", FS_READ_FILE | FS_READ_DIR, false, err) ||
        allow(ruleset, "/proc/self/task", FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE, false, err) ||
        allow(ruleset, scratch, all, false, err))
        return -1;
    for (size_t i = 0; i < spec->n_binds; i++) {
        const struct jail_bind *b = &spec->binds[i];
        uint64_t access = b->device ? device : b->writable ? all : FS_READING;
        if (allow(ruleset, b->source, access, b->optional, err))
            return -1;
    }
    return 0;
}

int landlock_confine(const struct jail_spec *spec, const char *scratch, kgrade_error *err)
{
    int abi = landlock_abi();
    if (abi == 0)
        return 0;
    struct ruleset_attr attr = {
        .handled_access_fs = FS_ABI_1 | (abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0) |
                             (abi >= 5 ? FS_IOCTL_DEV : 0),
        .handled_access_net = abi >= 4 ? NET_TCP : 0,
        .scoped = abi >= 6 ? SCOPES : 0,
    };
    size_t size = abi >= 6 ? sizeof attr : abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
    cleanup_close int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (ruleset < 0)
        return fail_errno(err, setup_code, NULL, "A Landlock rule set cannot be made");
    if (allow_all(ruleset, attr.handled_access_fs, spec, scratch, err))
        return -1;
    if (syscall(SYS_landlock_restrict_self, ruleset, 0))
        return fail_errno(err, setup_code, NULL, "Landlock cannot be put in force");
    return 0;
}
