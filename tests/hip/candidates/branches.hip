// accepted
// Memory of its own, copies and fills, and two streams that are joined: c = 0 + a + 1 * b, right in this order only.
extern "C" __global__ void scale(const float *x, float *y, int n, float factor)
{
    int i = PLACE;
    if (i < n)
        y[i] = x[i] * factor;
}

extern "C" __global__ void accumulate(const float *x, float *y, int n)
{
    int i = PLACE;
    if (i < n)
        y[i] += x[i];
}

static float *own, *copy;
static hipStream_t side;
static hipEvent_t begun, done;

extern "C" void vector_add(const float *a, const float *b, float *c, int n, hipStream_t stream)
{
    if (!own) {
        hipMalloc((void **)&own, 1 << 20);
        hipMalloc((void **)&copy, 1 << 20);
        hipStreamCreateWithFlags(&side, 1);
        hipEventCreateWithFlags(&begun, 2);
        hipEventCreateWithFlags(&done, 2);
    }
    hipMemsetAsync(c, 0, n * sizeof *c, stream);
    hipEventRecord(begun, stream);
    hipStreamWaitEvent(side, begun, 0);
    hipMemcpyAsync(copy, b, n * sizeof *b, hipMemcpyDeviceToDevice, side);
    scale<<<BLOCKS(n, 256), 256, 0, side>>>(copy, own, n, 1.0f);
    hipEventRecord(done, side);
    accumulate<<<BLOCKS(n, 256), 256, 0, stream>>>(a, c, n);
    hipStreamWaitEvent(stream, done, 0);
    accumulate<<<BLOCKS(n, 256), 256, 0, stream>>>(own, c, n);
}
