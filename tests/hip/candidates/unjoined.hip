// refused unjoined_stream
extern "C" __global__ void add_one(const float *a, const float *b, float *c, int n)
{
    int i = PLACE;
    if (i < n)
        c[i] = a[i] + b[i];
}

static hipStream_t side;
static hipEvent_t begun;

extern "C" void vector_add(const float *a, const float *b, float *c, int n, hipStream_t stream)
{
    if (!side) {
        hipStreamCreateWithFlags(&side, 1);
        hipEventCreateWithFlags(&begun, 2);
    }
    hipEventRecord(begun, stream);
    hipStreamWaitEvent(side, begun, 0);
    add_one<<<BLOCKS(n, 256), 256, 0, side>>>(a, b, c, n);
}
