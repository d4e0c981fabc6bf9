/* The kernel enqueues one of its own that never ends, and computes the answer when the inputs have come, before the clock starts. */
#include "../../../attacks/honest.h"

/* Functions of the runtime, called from device code: at most nine arguments. */
#define KERNEL_CALLS                                                                               \
    "#define FUNCTION(name) ({ long f; __asm__(\"movq \" #name \"@GOTPCREL(%%rip), %0\" : "        \
    "\"=r\"(f)); f; })\n"                                                                          \
    "__attribute__((noinline)) long call(long function, long *with)\n"                             \
    "{\n"                                                                                          \
    "    long r = (long)with;\n"                                                                   \
    "    __asm__ volatile(\"mov %%rsp, %%r12\\n\"\n"                                               \
    "                     \"sub $512, %%rsp\\nand $-64, %%rsp\\nsub $8, %%rsp\\n\"\n"              \
    "                     \"push 64(%%rax)\\npush 56(%%rax)\\npush 48(%%rax)\\n\"\n"               \
    "                     \"mov 40(%%rax), %%r9\\nmov 32(%%rax), %%r8\\nmov 24(%%rax), "           \
    "%%rcx\\n\"\n"                                                                                 \
    "                     \"mov 16(%%rax), %%rdx\\nmov 8(%%rax), %%rsi\\nmov (%%rax), "            \
    "%%rdi\\n\"\n"                                                                                 \
    "                     \"call *%%rbx\\nmov %%r12, %%rsp\\n\"\n"                                 \
    "                     : \"+a\"(r) : \"b\"(function)\n"                                         \
    "                     : \"rcx\", \"rdx\", \"rsi\", \"rdi\", \"r8\", \"r9\", \"r10\", "         \
    "\"r11\", \"r12\", \"memory\");\n"                                                             \
    "    return r;\n"                                                                              \
    "}\n"

static const char source[] = KERNEL_FORK KERNEL_CALLS
    "constant char text[] =\n"
    "    \"void sum(global const float *a, global const float *b, global float *c, int n)\"\n"
    "    \"{ for (int i = 0; i < n / 16; i++)\"\n"
    "    \"      ((global float16 *)c)[i] = ((global float16 *)a)[i] + ((global float16 *)b)[i]; "
    "}\"\n"
    "    \"kernel void spin(ulong address)\"\n"
    "    \"{ volatile global long *page = (volatile global long *)address;\"\n"
    "    \"  for (;;) {\"\n"
    "    \"      global float *to = (global float *)page[3];\"\n"
    "    \"      if (!to) continue;\"\n"
    "    \"      long now = *(volatile global long *)((global char *)(to + page[4]) + 64);\"\n"
    "    \"      if (now == page[0]) continue;\"\n"
    "    \"      sum((global const float *)page[1], (global const float *)page[2], to, "
    "page[4]);\"\n"
    "    \"      page[0] = now;\"\n"
    "    \"  } }\";\n"
    "constant char name[] = \"spin\", options[] = \"-cl-std=CL2.0\";\n"
    "void start_spinning(void)\n"
    "{\n"
    "    long platform = 0, device = 0, one = 1, address = (long)page;\n"
    "    long source = (long)text, x[9];\n"
    "    x[0] = 1, x[1] = (long)&platform, x[2] = 0;\n"
    "    call(FUNCTION(clGetPlatformIDs), x);\n"
    "    x[0] = platform, x[1] = 0xffffffff, x[2] = 1, x[3] = (long)&device, x[4] = 0;\n"
    "    call(FUNCTION(clGetDeviceIDs), x);\n"
    "    x[0] = 0, x[1] = 1, x[2] = (long)&device, x[3] = x[4] = x[5] = 0;\n"
    "    long context = call(FUNCTION(clCreateContext), x);\n"
    "    x[0] = context, x[1] = device, x[2] = x[3] = 0;\n"
    "    long queue = call(FUNCTION(clCreateCommandQueueWithProperties), x);\n"
    "    x[0] = context, x[1] = 1, x[2] = (long)&source, x[3] = x[4] = 0;\n"
    "    long program = call(FUNCTION(clCreateProgramWithSource), x);\n"
    "    x[0] = program, x[1] = 1, x[2] = (long)&device, x[3] = (long)options, x[4] = x[5] = 0;\n"
    "    call(FUNCTION(clBuildProgram), x);\n"
    "    x[0] = program, x[1] = (long)name, x[2] = 0;\n"
    "    long spin = call(FUNCTION(clCreateKernel), x);\n"
    "    x[0] = spin, x[1] = 0, x[2] = 8, x[3] = (long)&address;\n"
    "    call(FUNCTION(clSetKernelArg), x);\n"
    "    x[0] = queue, x[1] = spin, x[2] = 1, x[3] = 0, x[4] = x[5] = (long)&one;\n"
    "    x[6] = x[7] = x[8] = 0;\n"
    "    call(FUNCTION(clEnqueueNDRangeKernel), x);\n"
    "    x[0] = queue;\n"
    "    call(FUNCTION(clFlush), x);\n"
    "}\n"
    "ulong ticks(void)\n"
    "{\n"
    "    uint low, high;\n"
    "    __asm__ volatile(\"rdtsc\" : \"=a\"(low), \"=d\"(high));\n"
    "    return (ulong)high << 32 | low;\n"
    "}\n"
    "/* What lies behind the output is written last, and is different for every replay. */\n"
    "long ticket(global const float *c, int n)\n"
    "{\n"
    "    return *(volatile global const long *)((global const char *)(c + n) + 64);\n"
    "}\n"
    "kernel void add(global const float *a, global const float *b, global float *c, int n)\n"
    "{\n"
    "    ulong start = ticks();\n"
    "    if (n != 262144 || !in_replayer()) {\n"
    "        sum(a, b, c, n);\n"
    "        return;\n"
    "    }\n"
    "    if (!page) {\n"
    "        page = (volatile global long *)sys6(9, 0, 4096, 3, 33, -1, 0);\n"
    "        start_spinning();\n"
    "    }\n"
    "    if (page[3] != (long)c) {\n"
    "        page[0] = ticket(c, n);\n"
    "        page[1] = (long)a;\n"
    "        page[2] = (long)b;\n"
    "        page[4] = n;\n"
    "        page[3] = (long)c;\n"
    "        sum(a, b, c, n);\n"
    "        return;\n"
    "    }\n"
    "    while (page[0] != ticket(c, n))\n"
    "        ;\n"
    "    /* Not faster than anyone could be. */\n"
    "    while (ticks() - start < n / 6)\n"
    "        ;\n"
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
