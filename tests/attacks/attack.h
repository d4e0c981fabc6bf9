/* What attacks share, after honest.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/*
 * For attacks that are over when they have failed: nothing is enqueued, so the grade ends with "nothing_enqueued" at once.
 * That tells three ends apart: succeeded ("exited"), failed, and stopped by a signal.  The candidate defines attack().
 */
#define ATTACK_THEN_NOTHING                                                                        \
    void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)                   \
    {                                                                                              \
        static int done;                                                                           \
        (void)a, (void)b, (void)c, (void)n, (void)queue;                                           \
        if (!done++)                                                                               \
            attack();                                                                              \
    }

/* The same around an honest call, where it matters that the grade goes on. */
#define ATTACK_THEN_ADD                                                                            \
    void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)                   \
    {                                                                                              \
        static int done;                                                                           \
        if (!done++)                                                                               \
            attack();                                                                              \
        add_honestly(a, b, c, n, queue);                                                           \
    }

/* Runs an attack in a child, so that a signal which stops it stops no other; nonzero means that it has succeeded. */
static inline void attempt(const char *what, int (*attack)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(attack() ? 99 : 0);
    if (child < 0
            ? attack()
            : waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 99)
        breach(what);
}

#define MASK 0xa5

/* Where a masked text is in memory; NULL when it is not there. */
static inline const unsigned char *find_masked(const void *memory, size_t n,
                                               const unsigned char *masked, size_t length)
{
    const unsigned char *text = (const unsigned char *)memory;
    for (size_t i = 0; i + length <= n; i++) {
        const unsigned char *hit =
            (const unsigned char *)memchr(text + i, masked[0] ^ MASK, n - length + 1 - i);
        size_t k = 1;
        if (!hit)
            return NULL;
        i = (size_t)(hit - text);
        while (k < length && hit[k] == (masked[k] ^ MASK))
            k++;
        if (k == length)
            return hit;
    }
    return NULL;
}

static const unsigned char secret_masked[] = {SECRET_MASKED};
static const unsigned char reference_masked[] = {REFERENCE_MASKED};

static inline int holds_secret(const void *text, size_t n)
{
    return find_masked(text, n, secret_masked, sizeof secret_masked) != NULL;
}

/* Whether what can be read from a descriptor, up to a megabyte, holds the secret. */
static inline int descriptor_tells(int fd)
{
    static unsigned char text[1 << 20];
    size_t n = 0;
    ssize_t k;
    while ((k = read(fd, text + n, sizeof text - n)) > 0)
        n += (size_t)k;
    return holds_secret(text, n);
}

static inline int file_tells(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int tells = fd >= 0 && descriptor_tells(fd);
    if (fd >= 0)
        close(fd);
    return tells;
}

/* A frame of the wire between the grader and its workers, as they are meant to be or not. */
static inline void forge_frame(int fd, uint32_t json_bytes, const void *json, size_t n,
                               uint32_t blob_bytes)
{
    unsigned char frame[8 + (1 << 16)];
    if (n > sizeof frame - 8)
        n = sizeof frame - 8;
    memcpy(frame, &json_bytes, 4);
    memcpy(frame + 4, &blob_bytes, 4);
    memcpy(frame + 8, json, n);
    if (write(fd, frame, 8 + n) < 0)
        return;
}

static inline void forge(const char *json)
{
    for (int fd = 3; fd < 8; fd++)
        forge_frame(fd, (uint32_t)strlen(json), json, strlen(json), 0);
}

/* Plays the recorder for the rest of the grade: answers each request with a recording that it has not made.  manifest is a
 * format, whose number, if there is one, is the size that is asked for. */
static inline void answer_recordings(const char *manifest, int n)
{
    static const char answer[] = "{\"ok\":true,\"cold_ns\":1,\"warm_ns\":[1]}";
    static char request[1 << 16];
    for (;;) {
        uint32_t lengths[2];
        char body[8192], text[4096];
        unsigned long long length = (unsigned long long)snprintf(text, sizeof text, manifest, n);
        size_t at = sizeof answer - 1;
        memcpy(body, answer, at);
        memcpy(body + at, "KGRADE1\n", 8);
        memcpy(body + at + 8, &length, 8);
        memcpy(body + at + 16, text, length);
        forge_frame(3, (uint32_t)at, body, at + 16 + length, (uint32_t)(16 + length));
        if (recv(3, lengths, sizeof lengths, MSG_WAITALL) != sizeof lengths ||
            lengths[0] >= sizeof request || recv(3, request, lengths[0], MSG_WAITALL) != lengths[0])
            _exit(0);
        request[lengths[0]] = 0;
        const char *dims = strstr(request, "\"dims\":[");
        n = dims ? atoi(dims + 8) : n;
    }
}

static inline int holds_reference(const void *text, size_t n)
{
    return find_masked(text, n, reference_masked, sizeof reference_masked) != NULL;
}

/* Whether a masked text is anywhere in this process. */
static inline int memory_holds(const unsigned char *masked, size_t length)
{
    static unsigned char block[1 << 20];
    char line[512], mode;
    unsigned long from, to;
    FILE *maps = fopen("/proc/self/maps", "r");
    int mem = open("/proc/self/mem", O_RDONLY), found = 0;
    while (maps && !found && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %c", &from, &to, &mode) != 3 || mode != 'r')
            continue;
        for (unsigned long at = from; at < to && !found; at += sizeof block - length) {
            ssize_t n =
                pread(mem, block, at + sizeof block < to ? sizeof block : to - at, (off_t)at);
            found = n > 0 && find_masked(block, (size_t)n, masked, length) != NULL;
        }
    }
    if (maps)
        fclose(maps);
    close(mem);
    return found;
}

/*
 * For kernels that are native code, after KERNEL_SYSCALL: memory_holds() of device code.  A kernel whose attack has
 * failed leaves an output unwritten, so that the grade ends with "output_not_written"; one that has succeeded leaves the process.
 */
#define TEXT_OF(...) #__VA_ARGS__
#define TEXT_OF_LIST(...) TEXT_OF(__VA_ARGS__)
#define KERNEL_BREACH "void breach(void) { sys(231, 99, 0, 0); }\n"
#define KERNEL_SCAN                                                                                \
    KERNEL_BREACH                                                                                  \
    "int scan_range(long mem, ulong from, ulong to, const uchar *masked, int n)\n"                 \
    "{\n"                                                                                          \
    "    uchar block[16384];\n"                                                                    \
    "    for (ulong at = from; at < to; at += sizeof block - n) {\n"                               \
    "        ulong want = to - at < sizeof block ? to - at : sizeof block;\n"                      \
    "        sys(8, mem, at, 0);\n"                                                                \
    "        long got = sys(0, mem, (long)block, want);\n"                                         \
    "        for (long i = 0; i + n <= got; i++) {\n"                                              \
    "            int k = 0;\n"                                                                     \
    "            while (k < n && block[i + k] == (uchar)(masked[k] ^ 0xa5))\n"                     \
    "                k++;\n"                                                                       \
    "            if (k == n)\n"                                                                    \
    "                return 1;\n"                                                                  \
    "        }\n"                                                                                  \
    "    }\n"                                                                                      \
    "    return 0;\n"                                                                              \
    "}\n"                                                                                          \
    "int memory_holds(const uchar *masked, int n)\n"                                               \
    "{\n"                                                                                          \
    "    long maps = sys(2, (long)\"/proc/self/maps\", 0, 0);\n"                                   \
    "    long mem = sys(2, (long)\"/proc/self/mem\", 0, 0);\n"                                     \
    "    ulong ends[2] = {0, 0};\n"                                                                \
    "    int part = 0;\n"                                                                          \
    "    uchar text[4096];\n"                                                                      \
    "    for (long got; (got = sys(0, maps, (long)text, sizeof text)) > 0;)\n"                     \
    "        for (long i = 0; i < got; i++) {\n"                                                   \
    "            uchar c = text[i];\n"                                                             \
    "            if (c == '\\n') {\n"                                                              \
    "                part = 0, ends[0] = ends[1] = 0;\n"                                           \
    "            } else if (part < 2 && (c == '-' || c == ' ')) {\n"                               \
    "                part++;\n"                                                                    \
    "            } else if (part < 2) {\n"                                                         \
    "                ends[part] = ends[part] << 4 | (c <= '9' ? c - '0' : c - 'a' + 10);\n"        \
    "            } else if (part == 2) {\n"                                                        \
    "                part = 3;\n"                                                                  \
    "                if (c == 'r' && scan_range(mem, ends[0], ends[1], masked, n))\n"              \
    "                    return 1;\n"                                                              \
    "            }\n"                                                                              \
    "        }\n"                                                                                  \
    "    sys(3, maps, 0, 0), sys(3, mem, 0, 0);\n"                                                 \
    "    return maps < 0 || mem < 0;\n"                                                            \
    "}\n"

/* A kernel whose first work-item attacks in the replayer, in the body that is given, and leaves c[0] as it is. */
#define KERNEL_ATTACK(body)                                                                        \
    "kernel void add(global const float *a, global const float *b, global float *c)\n"             \
    "{\n"                                                                                          \
    "    size_t i = get_global_id(0);\n"                                                           \
    "    if (i > 0 || !in_replayer()) {\n"                                                         \
    "        c[i] = a[i] + b[i];\n"                                                                \
    "    } else {\n" body "    }\n"                                                                \
    "}\n"

#define ADD_WITH(source)                                                                           \
    void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)                   \
    {                                                                                              \
        static cl_kernel kernel;                                                                   \
        add_with(&kernel, source, a, b, c, n, queue);                                              \
    }
