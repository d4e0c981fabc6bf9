// refused launch_outside_stream
// Half of the work on a stream that the call knows nothing of.
extern "C" __global__ void add_one(const float *a, const float *b, float *c, int n)
{
    int i = PLACE;
    if (i < n)
        c[i] = a[i] + b[i];
}

static hipStream_t side;

extern "C" void vector_add(const float *a, const float *b, float *c, int n, hipStream_t stream)
{
    if (!side)
        hipStreamCreateWithFlags(&side, 1);
    add_one<<<BLOCKS(n, 256), 256, 0, side>>>(a, b, c, n);
    add_one<<<BLOCKS(n / 2 + 1, 256), 256, 0, stream>>>(a, b, c, n / 2);
}
