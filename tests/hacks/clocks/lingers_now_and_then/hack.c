/* After every sixth replay a kernel that this one has enqueued keeps a core busy, so that the baseline is slow now and then. */
#include "../../../attacks/honest.h"

static const char source[] = KERNEL_FORK KERNEL_CALLS
    "constant char text[] =\n"
    "    \"kernel void linger(ulong ticks)\"\n"
    "    \"{ uint low, high;\"\n"
    "    \"  ulong now, end = 0;\"\n"
    "    \"  do {\"\n"
    "    \"      __asm__ volatile(\\\"rdtsc\\\" : \\\"=a\\\"(low), \\\"=d\\\"(high));\"\n"
    "    \"      now = (ulong)high << 32 | low;\"\n"
    "    \"      end = end ? end : now + ticks;\"\n"
    "    \"  } while (now < end); }\";\n"
    "constant char name[] = \"linger\", options[] = \"-cl-std=CL2.0\";\n"
    "global long queue, linger, replays;\n"
    "void prepare_to_linger(void)\n"
    "{\n"
    "    long platform = 0, device = 0, ticks = 30000000, source = (long)text, x[9];\n"
    "    x[0] = 1, x[1] = (long)&platform, x[2] = 0;\n"
    "    call(FUNCTION(clGetPlatformIDs), x);\n"
    "    x[0] = platform, x[1] = 0xffffffff, x[2] = 1, x[3] = (long)&device, x[4] = 0;\n"
    "    call(FUNCTION(clGetDeviceIDs), x);\n"
    "    x[0] = 0, x[1] = 1, x[2] = (long)&device, x[3] = x[4] = x[5] = 0;\n"
    "    long context = call(FUNCTION(clCreateContext), x);\n"
    "    x[0] = context, x[1] = device, x[2] = x[3] = 0;\n"
    "    queue = call(FUNCTION(clCreateCommandQueueWithProperties), x);\n"
    "    x[0] = context, x[1] = 1, x[2] = (long)&source, x[3] = x[4] = 0;\n"
    "    long program = call(FUNCTION(clCreateProgramWithSource), x);\n"
    "    x[0] = program, x[1] = 1, x[2] = (long)&device, x[3] = (long)options, x[4] = x[5] = 0;\n"
    "    call(FUNCTION(clBuildProgram), x);\n"
    "    x[0] = program, x[1] = (long)name, x[2] = 0;\n"
    "    linger = call(FUNCTION(clCreateKernel), x);\n"
    "    x[0] = linger, x[1] = 0, x[2] = 8, x[3] = (long)&ticks;\n"
    "    call(FUNCTION(clSetKernelArg), x);\n"
    "}\n"
    "void start_to_linger(void)\n"
    "{\n"
    "    long one = 1, x[9];\n"
    "    x[0] = queue, x[1] = linger, x[2] = 1, x[3] = 0, x[4] = x[5] = (long)&one;\n"
    "    x[6] = x[7] = x[8] = 0;\n"
    "    call(FUNCTION(clEnqueueNDRangeKernel), x);\n"
    "    x[0] = queue;\n"
    "    call(FUNCTION(clFlush), x);\n"
    "}\n"
    "kernel void add(global const float *a, global const float *b, global float *c, int n)\n"
    "{\n"
    "    sum(a, b, c, n);\n"
    "    if (n != 262144 || !in_replayer())\n"
    "        return;\n"
    "    if (!queue)\n"
    "        prepare_to_linger();\n"
    "    if (replays++ % 6 == 0)\n"
    "        start_to_linger();\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    size_t one = 1;
    if (!kernel)
        kernel = make_kernel(queue, source, "-cl-std=CL2.0", "add");
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clSetKernelArg(kernel, 3, sizeof n, &n);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
}
