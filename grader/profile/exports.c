/*
 * NVTX v3 is header-only: its functions are in the candidate, and at the first call they look for a tool.  They pass
 * $NVTX_INJECTION64_PATH to dlopen and ask what they get for InitializeInjectionNvtx2.  The empty path is this program itself for
 * glibc's dlopen, and the recorders export the symbol: so no other file has to be brought into the jail.
 *
 * The tool is given a function that returns tables of pointers to pointers; it overwrites those that it implements, the others
 * become no-ops.  Types and numbers below are NVTX's binary interface, which its version 3 keeps stable.
 */
#define _GNU_SOURCE
#include "exports.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "../../sandbox/base/fail.h"
#include "collector.h"

#define EXPORT __attribute__((visibility("default")))

/* --- kgrade_ranges.h --- */

EXPORT void kgrade_collector_push(const char *name);
EXPORT void kgrade_collector_pop(void);

void kgrade_collector_push(const char *name)
{
    collector_push(LOG_DOMAIN_DEFAULT, name);
}

void kgrade_collector_pop(void)
{
    collector_pop(LOG_DOMAIN_DEFAULT);
}

/* --- NVTX --- */

#define NVTX_TABLE_CALLBACKS 1u
#define NVTX_MODULE_CORE 1
#define NVTX_MODULE_CORE2 5
#define NVTX_NO_DEPTH (-2) /* what push and pop return when the depth is not tracked */

enum { NVTX_ASCII = 1, NVTX_UNICODE = 2, NVTX_REGISTERED = 3 };

/* nvtxEventAttributes_t, version 2. */
struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

#define NVTX_ATTRIBUTES_BYTES 48u /* of version 2, which later ones begin with */

typedef void (*nvtx_function)(void);

struct nvtx_callbacks {
    size_t size;
    int (*table)(int module, nvtx_function ***ret_table, unsigned *ret_size);
};

/* Handles of domains and registered texts are numbers one above the collector's; 0 is the default domain's. */
static unsigned domain_of(const void *handle)
{
    uintptr_t domain = (uintptr_t)handle;
    return domain && domain < LOG_DOMAIN_API ? (unsigned)domain : LOG_DOMAIN_DEFAULT;
}

/* Wide texts are rare: their characters beyond ASCII become '?'. */
static const char *narrow(const wchar_t *wide, char to[LOG_MAX_NAME])
{
    size_t n = 0;
    for (; wide && wide[n] && n + 1 < LOG_MAX_NAME; n++)
        to[n] = wide[n] > 0 && wide[n] < 128 ? (char)wide[n] : '?';
    to[n] = 0;
    return to;
}

static const char *message_of(const struct nvtx_attributes *a, char buffer[LOG_MAX_NAME])
{
    if (!a || a->size < NVTX_ATTRIBUTES_BYTES || !a->message)
        return NULL;
    switch (a->message_type) {
    case NVTX_ASCII:
        return a->message;
    case NVTX_UNICODE:
        return narrow(a->message, buffer);
    case NVTX_REGISTERED:
        return collector_name_text((unsigned)((uintptr_t)a->message - 1));
    default:
        return NULL;
    }
}

static int push_ascii(const char *text)
{
    collector_push(LOG_DOMAIN_DEFAULT, text);
    return NVTX_NO_DEPTH;
}

static int push_wide(const wchar_t *text)
{
    char buffer[LOG_MAX_NAME];
    collector_push(LOG_DOMAIN_DEFAULT, narrow(text, buffer));
    return NVTX_NO_DEPTH;
}

static int domain_push(const void *domain, const struct nvtx_attributes *a)
{
    char buffer[LOG_MAX_NAME];
    collector_push(domain_of(domain), message_of(a, buffer));
    return NVTX_NO_DEPTH;
}

static int push_attributes(const struct nvtx_attributes *a)
{
    return domain_push(NULL, a);
}

static int domain_pop(const void *domain)
{
    collector_pop(domain_of(domain));
    return NVTX_NO_DEPTH;
}

static int pop(void)
{
    return domain_pop(NULL);
}

static uint64_t start_ascii(const char *text)
{
    return collector_start(LOG_DOMAIN_DEFAULT, text);
}

static uint64_t start_wide(const wchar_t *text)
{
    char buffer[LOG_MAX_NAME];
    return collector_start(LOG_DOMAIN_DEFAULT, narrow(text, buffer));
}

static uint64_t domain_start(const void *domain, const struct nvtx_attributes *a)
{
    char buffer[LOG_MAX_NAME];
    return collector_start(domain_of(domain), message_of(a, buffer));
}

static uint64_t start_attributes(const struct nvtx_attributes *a)
{
    return domain_start(NULL, a);
}

static void domain_end(const void *domain, uint64_t number)
{
    (void)domain; /* numbers are never used twice */
    collector_end(number);
}

static void *register_ascii(const void *domain, const char *text)
{
    (void)domain;
    return (void *)(uintptr_t)(1u + collector_name(text ? text : "(no name)"));
}

static void *register_wide(const void *domain, const wchar_t *text)
{
    char buffer[LOG_MAX_NAME];
    return register_ascii(domain, narrow(text, buffer));
}

static void *create_domain(const char *text)
{
    return (void *)(uintptr_t)collector_domain(text);
}

static void *create_domain_wide(const wchar_t *text)
{
    char buffer[LOG_MAX_NAME];
    return create_domain(narrow(text, buffer));
}

struct implementation {
    unsigned index; /* NVTX_CBID_* in nvtxTypes.h */
    nvtx_function function;
};

#define IMPLEMENTS(index, function)                                                                \
    {                                                                                              \
        index, (nvtx_function)(function)                                                           \
    }

static const struct implementation core[] = {
    IMPLEMENTS(4, start_attributes), IMPLEMENTS(5, start_ascii),
    IMPLEMENTS(6, start_wide),       IMPLEMENTS(7, collector_end),
    IMPLEMENTS(8, push_attributes),  IMPLEMENTS(9, push_ascii),
    IMPLEMENTS(10, push_wide),       IMPLEMENTS(11, pop),
};

static const struct implementation core2[] = {
    IMPLEMENTS(2, domain_start),    IMPLEMENTS(3, domain_end),
    IMPLEMENTS(4, domain_push),     IMPLEMENTS(5, domain_pop),
    IMPLEMENTS(10, register_ascii), IMPLEMENTS(11, register_wide),
    IMPLEMENTS(12, create_domain),  IMPLEMENTS(13, create_domain_wide),
};

static bool attach(const struct nvtx_callbacks *callbacks, int module,
                   const struct implementation *list, size_t n)
{
    nvtx_function **table = NULL;
    unsigned size = 0;
    if (!callbacks->table(module, &table, &size) || !table)
        return false;
    for (size_t i = 0; i < n; i++)
        if (list[i].index < size && table[list[i].index])
            *table[list[i].index] = list[i].function;
    return true;
}

EXPORT int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id));

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id))
{
    const struct nvtx_callbacks *callbacks = export_table(NVTX_TABLE_CALLBACKS);
    return callbacks && callbacks->size >= sizeof *callbacks &&
           attach(callbacks, NVTX_MODULE_CORE, core, sizeof core / sizeof core[0]) &&
           attach(callbacks, NVTX_MODULE_CORE2, core2, sizeof core2 / sizeof core2[0]);
}

int exports_announce(kgrade_error *err)
{
    if (setenv("NVTX_INJECTION64_PATH", "", 1))
        return fail(err, "out_of_memory", NULL, "There is no memory for the environment.");
    return 0;
}
