// suspect clocks_disagree
// The double's kernel of this name takes long, and makes the device's clock say that it did not.
extern "C" __global__ void add_forging(const float *a, const float *b, float *c, int n)
{
    int i = PLACE;
    if (i < n)
        c[i] = a[i] + b[i];
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, hipStream_t stream)
{
    add_forging<<<BLOCKS(n, 256), 256, 0, stream>>>(a, b, c, n);
}
