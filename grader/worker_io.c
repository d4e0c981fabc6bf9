#include "worker_io.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static uint64_t send_deadline(void)
{
    return io_now() + WORKER_SEND_NS;
}

int worker_ok(json_t *json, const void *blob, size_t blob_size, int fd)
{
    if (!json)
        json = json_object();
    json_object_set_new(json, "ok", json_true());
    return wire_send(WORKER_SOCKET, json, blob, blob_size, fd, send_deadline(), NULL);
}

int worker_fail(const char *verdict, const kgrade_error *err)
{
    json_t *json = json_pack("{s:b, s:s, s:s, s:s, s:s}", "ok", 0, "verdict", verdict, "code",
                             err->code, "message", err->message, "hint", err->hint);
    if (!json) /* text that is not UTF-8 */
        json =
            json_pack("{s:b, s:s, s:s, s:s, s:s}", "ok", 0, "verdict", verdict, "code", err->code,
                      "message", "The worker failed with a message that is not UTF-8.", "hint", "");
    return wire_send(WORKER_SOCKET, json, NULL, 0, -1, send_deadline(), NULL);
}

#ifdef __SANITIZE_ADDRESS__
/* A candidate's crash must look like one in sanitized builds of the workers, too. */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0:"
           "use_sigaltstack=0:detect_leaks=0";
}
#endif

static kgrade_error start_error;
static int start_result;

void worker_start_ahead(int (*start)(kgrade_error *err))
{
    if (start && !start_result)
        start_result = start(&start_error);
}

int worker_started(kgrade_error *err)
{
    if (start_result)
        *err = start_error;
    return start_result;
}

static uint64_t awake_ns;

void worker_stay_awake(uint64_t ns)
{
    awake_ns = ns;
}

int worker_next(struct wire_message *ret, const char **ret_op)
{
    if (awake_ns)
        io_await_awake(WORKER_SOCKET, awake_ns);
    int r = wire_receive(WORKER_SOCKET, ret, IO_NO_DEADLINE, NULL);
    if (r)
        return r;
    *ret_op = json_string_value(json_object_get(ret->json, "op"));
    return *ret_op ? 0 : -1;
}

void *worker_load(int fd)
{
    /* The loader knows libraries by path, and descriptors' numbers are used again: each gets a path of its own. */
    static unsigned loads;
    char path[32 + 2 * WORKER_MAX_LOADS] = "/proc/self/fd";
    size_t n = strlen(path);
    if (loads == WORKER_MAX_LOADS)
        return NULL;
    for (unsigned i = 0; i < loads; i++, n += 2)
        memcpy(path + n, "/.", 2);
    loads++;
    snprintf(path + n, sizeof path - n, "/%d", fd);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

const char *worker_load_error(void)
{
    const char *text = dlerror();
    const char *rest = text && !strncmp(text, "/proc/self/fd/", 14) ? strstr(text, ": ") : NULL;
    return rest ? rest + 2 : text ? text : "unknown cause";
}
