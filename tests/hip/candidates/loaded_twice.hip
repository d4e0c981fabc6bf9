// refused ambiguous_kernel
// Loads its own code by hand, twice, and uses both: a replay could not tell whose variables are whose.
typedef struct module *hipModule_t;
typedef struct function *hipFunction_t;

extern "C" {
hipError_t hipModuleLoadData(hipModule_t *module, const void *image);
hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name);
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned shared, hipStream_t stream, void **arguments, void **extra);
}

extern "C" __global__ void add_one(const float *a, const float *b, float *c, int n)
{
    int i = PLACE;
    if (i < n)
        c[i] = a[i] + b[i];
}

#ifndef __HIP_DEVICE_COMPILE__
/* What the compiler registers: magic, version, code. */
asm(".set own_code, __hip_fatbin_wrapper");
extern "C" __attribute__((visibility("hidden"))) const struct {
    unsigned magic, version;
    const void *bundle;
} own_code;

extern "C" void vector_add(const float *a, const float *b, float *c, int n, hipStream_t stream)
{
    static hipFunction_t functions[2];
    void *arguments[] = {&a, &b, &c, &n};
    for (hipFunction_t &f : functions) {
        hipModule_t module;
        if (!f && !hipModuleLoadData(&module, own_code.bundle))
            hipModuleGetFunction(&f, module, "add_one");
        hipModuleLaunchKernel(f, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr);
    }
}
#endif
