// accepted
// Memory of its own that the host fills in the first call and every call reads: right only where its contents go along.
extern "C" __global__ void add_by_table(const float *a, const float *b, float *c, int n, const float *table)
{
    int i = PLACE;
    if (i < n)
        c[i] = a[i] + b[i] * table[i % 4];
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, hipStream_t stream)
{
    static float *table;
    const float ones[4] = {1, 1, 1, 1};
    if (!table) {
        hipMalloc((void **)&table, sizeof ones);
        hipMemcpy(table, ones, sizeof ones, hipMemcpyHostToDevice);
    }
    add_by_table<<<BLOCKS(n, 256), 256, 0, stream>>>(a, b, c, n, table);
}
