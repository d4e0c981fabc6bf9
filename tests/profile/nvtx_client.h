/*
 * What the headers of NVTX v3 do in a program that includes them, as far as tests need it: at the first call they look
 * for a tool, hand it a table of pointers to functions, and call through those from then on.  For machines without the headers.
 */
#ifndef NVTX_CLIENT_H
#define NVTX_CLIENT_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvtx_domain *nvtxDomainHandle_t;
typedef uint64_t nvtxRangeId_t;

typedef struct nvtxEventAttributes_v2 {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    uint64_t payload;
    int32_t messageType;
    union {
        const char *ascii;
        const void *registered;
    } message;
} nvtxEventAttributes_t;

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE sizeof(nvtxEventAttributes_t)
#define NVTX_MESSAGE_TYPE_ASCII 1

typedef void (*nvtx_function)(void);

#define NVTX_FUNCTIONS 16
static nvtx_function nvtx_core[NVTX_FUNCTIONS], nvtx_core2[NVTX_FUNCTIONS];

static int nvtx_table(int module, nvtx_function ***ret, unsigned *ret_size)
{
    static nvtx_function *tables[2][NVTX_FUNCTIONS];
    if (module != 1 && module != 5)
        return 0;
    for (int i = 1; i < NVTX_FUNCTIONS; i++) {
        tables[0][i] = &nvtx_core[i];
        tables[1][i] = &nvtx_core2[i];
    }
    *ret = tables[module == 5];
    *ret_size = NVTX_FUNCTIONS;
    return 1;
}

static const void *nvtx_export(uint32_t id)
{
    static const struct {
        size_t size;
        int (*table)(int, nvtx_function ***, unsigned *);
    } callbacks = {sizeof callbacks, nvtx_table};
    return id == 1 ? &callbacks : NULL;
}

static void nvtx_init(void)
{
    static int done;
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = done || !path ? NULL : dlopen(path, RTLD_LAZY);
    int (*inject)(const void *(*)(uint32_t)) = NULL;
    done = 1;
    if (!library)
        return;
    void *symbol = dlsym(library, "InitializeInjectionNvtx2");
    memcpy(&inject, &symbol, sizeof symbol);
    if (inject)
        inject(nvtx_export);
}

#define NVTX_CALL(table, index, type, none, ...)                                                   \
    (nvtx_init(), table[index] ? ((type)table[index])(__VA_ARGS__) : none)

static inline int nvtxRangePushA(const char *text)
{
    return NVTX_CALL(nvtx_core, 9, int (*)(const char *), -2, text);
}

static inline int nvtxRangePop(void)
{
    return NVTX_CALL(nvtx_core, 11, int (*)(void), -2);
}

static inline nvtxRangeId_t nvtxRangeStartA(const char *text)
{
    return NVTX_CALL(nvtx_core, 5, nvtxRangeId_t(*)(const char *), 0, text);
}

static inline void nvtxRangeEnd(nvtxRangeId_t id)
{
    nvtx_init();
    if (nvtx_core[7])
        ((void (*)(nvtxRangeId_t))nvtx_core[7])(id);
}

static inline nvtxDomainHandle_t nvtxDomainCreateA(const char *name)
{
    return NVTX_CALL(nvtx_core2, 12, nvtxDomainHandle_t(*)(const char *), NULL, name);
}

static inline int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    return NVTX_CALL(nvtx_core2, 4, int (*)(nvtxDomainHandle_t, const nvtxEventAttributes_t *), -2,
                     domain, a);
}

static inline int nvtxDomainRangePop(nvtxDomainHandle_t domain)
{
    return NVTX_CALL(nvtx_core2, 5, int (*)(nvtxDomainHandle_t), -2, domain);
}

#endif
