/*
 * The usual way: an event before the call, an event after it, in the candidate's own process.  For comparison only: nothing that
 * kgrade scores is measured like this.
 *
 *   event_pair CANDIDATE.so N...     prints the median ns for each N
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <vector>

typedef void (*entry_t)(const float *, const float *, float *, int, cudaStream_t);

static double median_ns(entry_t entry, int n)
{
    const int samples = 100;
    float *a, *b, *c;
    cudaEvent_t start, stop;
    std::vector<float> times;
    cudaMalloc(&a, 4l * n);
    cudaMalloc(&b, 4l * n);
    cudaMalloc(&c, 4l * n);
    cudaMemset(a, 0, 4l * n);
    cudaMemset(b, 0, 4l * n);
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    for (int i = 0; i < samples + 5; i++) {
        float ms = 0;
        cudaEventRecord(start, cudaStreamPerThread);
        entry(a, b, c, n, cudaStreamPerThread);
        cudaEventRecord(stop, cudaStreamPerThread);
        cudaEventSynchronize(stop);
        cudaEventElapsedTime(&ms, start, stop);
        if (i >= 5)
            times.push_back(ms * 1e6f);
    }
    std::sort(times.begin(), times.end());
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    return times[times.size() / 2];
}

int main(int argc, char **argv)
{
    void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    entry_t entry = library ? (entry_t)dlsym(library, "vector_add") : NULL;
    if (!entry) {
        fprintf(stderr, "usage: event_pair CANDIDATE.so N...\n%s\n", argc > 1 ? dlerror() : "");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        printf("%s%.0f", i > 2 ? " " : "", median_ns(entry, atoi(argv[i])));
    printf("\n");
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
