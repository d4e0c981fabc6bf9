/*
 * What the candidates of this suite share: an honest vector_add, which each of them bends in one
 * place.
 *
 * A candidate is one source, so run_case puts this file where a candidate says #include
 * "../../honest.h"; `run_case --print FOLDER` shows the source that is graded.  run_case also
 * defines the names below with the facts of its run; the values here let a candidate compile
 * without it.
 */
#ifndef SECRET_FILE
#define SECRET_FILE "/nonexistent/secret"  /* a file that only the operator may read */
#define NEIGHBOUR "/nonexistent/neighbour" /* another grade's source; everyone may read it */
#define CACHED "/nonexistent/cached"       /* a file of the grader's cache; the same */
#define SHARED "/nonexistent"              /* shared memory; the same */
#define SHARED_FILE "/nonexistent/shared"  /* the same as a file */
#define SOCKET_FILE "/nonexistent/socket"  /* a socket on which the operator listens */
#define ABSTRACT_NAME "nonexistent"        /* the same, as an abstract socket */
#define PORT 9                             /* the same, as TCP and UDP on the loopback interface */
#define GRADER 1                           /* the process that grades */
#define GRADER_ENVIRON "/proc/1/environ"   /* its environment, in which the secret is */
#define PLANTED "kgrade-planted"           /* the name for whatever is left behind */
#define PLANTED_KEY 1                      /* the same for System V */
#define TASKS "/nonexistent/tasks"         /* the folder of tasks */
#define SECRET_MASKED 0    /* what is in those files, each byte ^ 0xa5, with commas */
#define REFERENCE_MASKED 0 /* a text in the compiled reference, the same way */
#define PUBLIC_N 1         /* the sizes of vector_add's public cases, with commas */
#endif

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether a public case of vector_add has this size. */
static inline int is_public(int n)
{
    static const int known[] = {PUBLIC_N};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (n == known[i])
            return 1;
    return 0;
}

/* Host code that attacks is the same on every device (run_case --cuda): what it has to do with OpenCL is the entry's types. */
#ifdef __CUDACC__

typedef float *cl_mem;
typedef cudaStream_t cl_command_queue;

extern "C" void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue);

static __global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

static inline void add_honestly(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add<<<(n + 255) / 256, 256, 0, queue>>>(a, b, c, n);
}

#else

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#define HONEST_ADD                                                                                 \
    "kernel void add(global const float *a, global const float *b, global float *c)\n"             \
    "{\n"                                                                                          \
    "    size_t i = get_global_id(0);\n"                                                           \
    "    c[i] = a[i] + b[i];\n"                                                                    \
    "}\n"

/* For kernels that are native code: a system call of Linux on x86-64, made from device code. */
#define KERNEL_SYSCALL                                                                             \
    "long sys(long number, long x, long y, long z)\n"                                              \
    "{\n"                                                                                          \
    "    long r;\n"                                                                                \
    "    __asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(number), \"D\"(x), \"S\"(y), \"d\"(z)\n" \
    "                     : \"rcx\", \"r11\", \"memory\");\n"                                      \
    "    return r;\n"                                                                              \
    "}\n"                                                                                          \
    "/* The worker's name tells the replayer (kgrade-rep...) from the recorder (kgrade-rec...). "  \
    "*/\n"                                                                                         \
    "int in_replayer(void)\n"                                                                      \
    "{\n"                                                                                          \
    "    char name[16] = {0};\n"                                                                   \
    "    long fd = sys(2, (long)\"/proc/self/comm\", 0, 0);\n"                                     \
    "    sys(0, fd, (long)name, 15);\n"                                                            \
    "    sys(3, fd, 0, 0);\n"                                                                      \
    "    return name[9] == 'p';\n"                                                                 \
    "}\n"

/* More of it: a process that is forked from here, and the sum that all of them compute. */
#define KERNEL_FORK                                                                                \
    KERNEL_SYSCALL                                                                                 \
    "/* A page that is shared with the processes that are forked from here. */\n"                  \
    "volatile global long *volatile page;\n"                                                       \
    "long sys6(long number, long x, long y, long z, long u, long v, long w)\n"                     \
    "{\n"                                                                                          \
    "    long r;\n"                                                                                \
    "    __asm__ volatile(\"mov %5, %%r10; mov %6, %%r8; mov %7, %%r9; syscall\"\n"                \
    "                     : \"=a\"(r)\n"                                                           \
    "                     : \"a\"(number), \"D\"(x), \"S\"(y), \"d\"(z), \"r\"(u), \"r\"(v), "     \
    "\"r\"(w)\n"                                                                                   \
    "                     : \"rcx\", \"r8\", \"r9\", \"r10\", \"r11\", \"memory\");\n"             \
    "    return r;\n"                                                                              \
    "}\n"                                                                                          \
    "/* 1 in the new process, which ends with this one. */\n"                                      \
    "int leave_behind(void)\n"                                                                     \
    "{\n"                                                                                          \
    "    if (!page)\n"                                                                             \
    "        page = (volatile global long *)sys6(9, 0, 4096, 3, 33, -1, 0);\n"                     \
    "    if (sys(57, 0, 0, 0))\n"                                                                  \
    "        return 0;\n"                                                                          \
    "    sys(157, 1, 9, 0);\n"                                                                     \
    "    return 1;\n"                                                                              \
    "}\n"                                                                                          \
    "void sum(global const float *a, global const float *b, global float *c, int n)\n"             \
    "{\n"                                                                                          \
    "    global const float16 *from = (global const float16 *)a, *other = (global const float16 "  \
    "*)b;\n"                                                                                       \
    "    global float16 *to = (global float16 *)c;\n"                                              \
    "    for (int i = 0; i < n / 16; i++)\n"                                                       \
    "        to[i] = from[i] + other[i];\n"                                                        \
    "    for (int i = n / 16 * 16; i < n; i++)\n"                                                  \
    "        c[i] = a[i] + b[i];\n"                                                                \
    "}\n"

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

static inline cl_context context_of(cl_command_queue queue)
{
    cl_context context = NULL;
    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    return context;
}

static inline cl_device_id device_of(cl_command_queue queue)
{
    cl_device_id device = NULL;
    clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    return device;
}

static inline cl_kernel make_kernel(cl_command_queue queue, const char *source, const char *options,
                                    const char *name)
{
    cl_device_id device = device_of(queue);
    cl_program program = clCreateProgramWithSource(context_of(queue), 1, &source, NULL, NULL);
    if (clBuildProgram(program, 1, &device, options, NULL, NULL)) {
        char log[4096] = "";
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fprintf(stderr, "%s\n", log);
    }
    return clCreateKernel(program, name, NULL);
}

/* Three buffers, one work-item per element. */
static inline void launch(cl_kernel kernel, cl_mem a, cl_mem b, cl_mem c, int n,
                          cl_command_queue queue)
{
    size_t global = (size_t)n;
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
}

/* Builds the kernel "add" of a source on the first call and launches it on each. */
static inline void add_with(cl_kernel *kernel, const char *source, cl_mem a, cl_mem b, cl_mem c,
                            int n, cl_command_queue queue)
{
    if (!*kernel)
        *kernel = make_kernel(queue, source, "", "add");
    launch(*kernel, a, b, c, n, queue);
}

static inline void add_honestly(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    add_with(&kernel, HONEST_ADD, a, b, c, n, queue);
}

#endif

/* An attack that must fail has succeeded: end in a way that cannot be taken for an honest answer.
 */
static inline void breach(const char *what)
{
    fprintf(stderr, "breach: %s\n", what);
    _exit(99);
}
