/* Loads the real OpenCL library and launches around the recorder. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "../../../attacks/honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_int (*enqueue)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                             const size_t *, cl_uint, const cl_event *, cl_event *);
    static cl_kernel kernel;
    size_t global = (size_t)n;
    if (!kernel) {
        void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
        *(void **)&enqueue = library ? dlsym(library, "clEnqueueNDRangeKernel") : NULL;
        kernel = make_kernel(queue, HONEST_ADD, "", "add");
    }
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    if (enqueue)
        enqueue(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
}
