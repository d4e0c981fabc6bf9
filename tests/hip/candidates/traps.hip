// runtime_error kernel_failed
// The double knows no kernel of this name, and lets it trap.
extern "C" __global__ void unknown_to_the_double(float *c)
{
    c[LANE] = 1;
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, hipStream_t stream)
{
    unknown_to_the_double<<<1, 64, 0, stream>>>(c);
}
