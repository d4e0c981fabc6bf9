// accepted
// Also the baseline of the suite's vector_add.
extern "C" __global__ void add_four(const float *a, const float *b, float *c, int n)
{
    for (int i = 4 * PLACE; i < n && i < 4 * PLACE + 4; i++)
        c[i] = a[i] + b[i];
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, hipStream_t stream)
{
    add_four<<<BLOCKS(n, 1024), 256, 0, stream>>>(a, b, c, n);
}
