/* Kernels whose resources differ; test_cuda_resources.c compares what the compiler says of them with what the module
 * tells. */
extern "C" __global__ void plain(float *a)
{
    a[threadIdx.x] *= 2;
}

extern "C" __global__ void shared_array(float *a)
{
    __shared__ float s[1000];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = s[999 - threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(1024, 2) spilling(float *a, int n)
{
    float v[64];
    for (int i = 0; i < 64; i++)
        v[i] = a[i * 1024 + threadIdx.x];
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 64; i++)
            v[i] = v[i] * v[(i + 7) % 64] + a[k];
    for (int i = 0; i < 64; i++)
        a[i * 1024 + threadIdx.x] = v[i];
}

extern "C" __global__ void indexed(float *a, int n)
{
    float v[200];
    for (int i = 0; i < 200; i++)
        v[i] = a[i];
    a[n] = v[n] + v[n * 7 % 200];
}
