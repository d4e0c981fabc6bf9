// refused hidden_state
// Right in the first replay only: its count of calls is a variable that only this module finds.
static __device__ int calls;

extern "C" __global__ void add_one(const float *a, const float *b, float *c, int n)
{
    int i = PLACE;
    if (i < n)
        c[i] = a[i] + (calls ? 0.0f : b[i]);
    if (i == n - 1)
        calls = 1;
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, hipStream_t stream)
{
    add_one<<<BLOCKS(n, 256), 256, 0, stream>>>(a, b, c, n);
}
