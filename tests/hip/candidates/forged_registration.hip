// refused unknown_function
// Registers a function under a name that its code does not have, and launches it.
extern "C" {
void **__hipRegisterFatBinary(const void *data);
void __hipRegisterFunction(void **module, const void *host, char *device, const char *name, unsigned threads, void *thread,
                           void *block, void *block_size, void *grid_size, int *wave);
}

extern "C" __global__ void add_one(const float *a, const float *b, float *c, int n)
{
    int i = PLACE;
    if (i < n)
        c[i] = a[i] + b[i];
}

#ifndef __HIP_DEVICE_COMPILE__
/* What the compiler registers. */
asm(".set own_code, __hip_fatbin_wrapper");
extern "C" __attribute__((visibility("hidden"))) const char own_code;

extern "C" void vector_add(const float *a, const float *b, float *c, int n, hipStream_t stream)
{
    static char host, name[] = "add_nothing";
    void *arguments[] = {&a, &b, &c, &n};
    void **module = __hipRegisterFatBinary(&own_code);
    __hipRegisterFunction((void **)&host, &host, name, "add_one", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    __hipRegisterFunction(module, &host, name, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    hipLaunchKernel(&host, BLOCKS(n, 256), 256, arguments, 0, stream);
}
#endif
