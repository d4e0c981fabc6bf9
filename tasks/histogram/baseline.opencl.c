/*
 * A histogram for a CPU behind OpenCL.  A work-item counts a stretch in four tables of its own, so that equal neighbours do
 * not wait for one another; what is outside the bins goes to one bin more.  Then it adds its counts to the result, which
 * is cheap for a few stretches.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

#define STRETCHES 16
#define LEAST 32768 /* elements in a stretch */

static const char source[] =
    "enum { MAX_BINS = 1024 };\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void count(global const int *restrict input, global int *restrict bins, int n,\n"
    "           int num_bins, int stretch)\n"
    "{\n"
    "    local int a[MAX_BINS + 1], b[MAX_BINS + 1], c[MAX_BINS + 1], d[MAX_BINS + 1];\n"
    "    uint4 outside = (uint4)(num_bins);\n"
    "    int first = get_group_id(0) * stretch, end = first + min(stretch, n - first), i = first;\n"
    "    for (int j = 0; j <= num_bins; j++)\n"
    "        a[j] = b[j] = c[j] = d[j] = 0;\n"
    "    for (; i + 8 <= end; i += 8) {\n"
    "        uint4 v = min(as_uint4(vload4(0, input + i)), outside);\n"
    "        uint4 w = min(as_uint4(vload4(0, input + i + 4)), outside);\n"
    "        a[v.x]++, b[v.y]++, c[v.z]++, d[v.w]++;\n"
    "        a[w.x]++, b[w.y]++, c[w.z]++, d[w.w]++;\n"
    "    }\n"
    "    for (; i < end; i++)\n"
    "        a[min((uint)input[i], outside.x)]++;\n"
    "    for (int j = 0; j < num_bins; j++) {\n"
    "        int sum = (a[j] + b[j]) + (c[j] + d[j]);\n"
    "        if (sum)\n"
    "            atomic_add(bins + j, sum);\n"
    "    }\n"
    "}\n";

static cl_kernel kernel;

static cl_kernel build(cl_command_queue queue)
{
    cl_context context;
    cl_device_id device;
    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    const char *text = source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS) {
        char log[4096] = "";
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fprintf(stderr, "%s\n", log);
        return NULL;
    }
    return clCreateKernel(program, "count", NULL);
}

void histogram(cl_mem input, cl_mem bins, int n, int num_bins, cl_command_queue queue)
{
    if (!kernel)
        kernel = build(queue);
    int zero = 0, share = (int)(((long)n + STRETCHES - 1) / STRETCHES);
    int stretch = share > LEAST ? share : LEAST;
    clEnqueueFillBuffer(queue, bins, &zero, sizeof zero, 0, (size_t)num_bins * sizeof(cl_int), 0,
                        NULL, NULL);
    clSetKernelArg(kernel, 0, sizeof input, &input);
    clSetKernelArg(kernel, 1, sizeof bins, &bins);
    clSetKernelArg(kernel, 2, sizeof n, &n);
    clSetKernelArg(kernel, 3, sizeof num_bins, &num_bins);
    clSetKernelArg(kernel, 4, sizeof stretch, &stretch);
    size_t items = ((size_t)n + (size_t)stretch - 1) / (size_t)stretch, one = 1;
    items = items ? items : 1; /* a call without a kernel is refused */
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &one, 0, NULL, NULL);
}
