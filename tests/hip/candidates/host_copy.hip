// refused host_copy
static float ones[1 << 16];

extern "C" void vector_add(const float *a, const float *b, float *c, int n, hipStream_t stream)
{
    hipMemcpyAsync(c, ones, (n < 1 << 16 ? n : 1 << 16) * sizeof *c, hipMemcpyHostToDevice, stream);
}
