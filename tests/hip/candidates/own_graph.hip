// refused graph_launch
extern "C" void vector_add(const float *a, const float *b, float *c, int n, hipStream_t stream)
{
    hipGraphLaunch(nullptr, stream);
}
