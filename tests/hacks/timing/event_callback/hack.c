/* Lets a host callback do the work when a trifle has finished. */
#include "../../../attacks/honest.h"

static const char source[] = "kernel void add(global float *c)\n"
                             "{\n"
                             "    c[0] = 0;\n"
                             "}\n";

static struct work {
    cl_mem a, b, c;
    int n;
    cl_command_queue queue;
} work;

static void CL_CALLBACK callback(cl_event event, cl_int status, void *data)
{
    (void)event, (void)status, (void)data;
    add_honestly(work.a, work.b, work.c, work.n, work.queue);
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel trifle;
    size_t one = 1;
    cl_event done = NULL;
    work = (struct work){a, b, c, n, queue};
    if (!trifle)
        trifle = make_kernel(queue, source, "", "add");
    clSetKernelArg(trifle, 0, sizeof c, &c);
    clEnqueueNDRangeKernel(queue, trifle, 1, NULL, &one, NULL, 0, NULL, &done);
    clSetEventCallback(done, CL_COMPLETE, callback, NULL);
}
