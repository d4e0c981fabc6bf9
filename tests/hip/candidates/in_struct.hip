// accepted
// Pointers inside of an argument: they mean the same in a replay only where the arena lies at the same place.
struct vectors {
    const float *a, *b;
    float *c;
};

extern "C" __global__ void add_in_struct(vectors v, int n)
{
    int i = PLACE;
    if (i < n)
        v.c[i] = v.a[i] + v.b[i];
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, hipStream_t stream)
{
    add_in_struct<<<BLOCKS(n, 256), 256, 0, stream>>>(vectors{a, b, c}, n);
}
