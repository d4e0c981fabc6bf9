// build_failed compile_failed
extern "C" void vector_add(const float *a, const float *b, float *c, int n, hipStream_t stream)
{
    this is not HIP;
}
