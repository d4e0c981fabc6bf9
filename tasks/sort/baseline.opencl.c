/*
 * Radix sort for a CPU behind OpenCL.  The keys are cut into parts, which are distributed by their highest digit into 256
 * buckets: one kernel counts, one work-item turns counts into places, one kernel moves.  After that the buckets do not
 * depend on each other and mostly fit a cache: a work-item sorts one by its three lower digits, from the lowest.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

#define LEAST_CAPACITY (1 << 19)
#define LEAST_PART 8192
#define MAX_PARTS 64
#define BUCKETS 256

static const char source[] =
    "enum { BUCKETS = 256, FEW = 32 };\n"
    "\n"
    "/* The sign bit turned: unsigned order is then the order of the keys. */\n"
    "static uint bucket_of(int key)\n"
    "{\n"
    "    return ((uint)key >> 24) ^ 0x80;\n"
    "}\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void count_keys(global const int *restrict keys, global int *restrict places, int n, int "
    "part)\n"
    "{\n"
    "    int p = get_group_id(0), first = p * part, end = min(part, n - first) + first;\n"
    "    int counts[2][BUCKETS];\n"
    "    for (int b = 0; b < BUCKETS; b++)\n"
    "        counts[0][b] = counts[1][b] = 0;\n"
    "    for (int i = first; i < end; i++)\n"
    "        counts[i % 2][bucket_of(keys[i])]++;\n"
    "    for (int b = 0; b < BUCKETS; b++)\n"
    "        places[p * BUCKETS + b] = counts[0][b] + counts[1][b];\n"
    "}\n"
    "\n"
    "/* Counts become the places where each part's keys of each bucket begin; `begins` those of "
    "the buckets. */\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void find_places(global int *restrict places, global int *restrict begins, int parts)\n"
    "{\n"
    "    int totals[BUCKETS], before = 0;\n"
    "    for (int b = 0; b < BUCKETS; b++)\n"
    "        totals[b] = 0;\n"
    "    for (int p = 0; p < parts; p++)\n"
    "        for (int b = 0; b < BUCKETS; b++)\n"
    "            totals[b] += places[p * BUCKETS + b];\n"
    "    for (int b = 0; b < BUCKETS; b++) {\n"
    "        int count = totals[b];\n"
    "        begins[b] = totals[b] = before;\n"
    "        before += count;\n"
    "    }\n"
    "    begins[BUCKETS] = before;\n"
    "    for (int p = 0; p < parts; p++)\n"
    "        for (int b = 0; b < BUCKETS; b++) {\n"
    "            int count = places[p * BUCKETS + b];\n"
    "            places[p * BUCKETS + b] = totals[b];\n"
    "            totals[b] += count;\n"
    "        }\n"
    "}\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void move_keys(global const int *restrict keys, global int *restrict moved,\n"
    "               global const int *restrict places, int n, int part)\n"
    "{\n"
    "    int p = get_group_id(0), first = p * part, end = min(part, n - first) + first;\n"
    "    int own[BUCKETS];\n"
    "    for (int b = 0; b < BUCKETS; b++)\n"
    "        own[b] = places[p * BUCKETS + b];\n"
    "    for (int i = first; i < end; i++) {\n"
    "        int key = keys[i];\n"
    "        moved[own[bucket_of(key)]++] = key;\n"
    "    }\n"
    "}\n"
    "\n"
    "static void sort_few(global const int *from, global int *to, int n)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        int key = from[i], j = i;\n"
    "        for (; j > 0 && to[j - 1] > key; j--)\n"
    "            to[j] = to[j - 1];\n"
    "        to[j] = key;\n"
    "    }\n"
    "}\n"
    "\n"
    "static void move_by_digit(global const int *from, global int *to, int n, int *places, int "
    "shift)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        int key = from[i];\n"
    "        to[places[(uint)key >> shift & 255]++] = key;\n"
    "    }\n"
    "}\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void sort_buckets(global int *restrict keys, global int *restrict sorted,\n"
    "                  global const int *restrict begins)\n"
    "{\n"
    "    int first = begins[get_group_id(0)], n = begins[get_group_id(0) + 1] - first;\n"
    "    int places[3][256], before[3] = {0, 0, 0};\n"
    "    keys += first;\n"
    "    sorted += first;\n"
    "    if (n <= FEW) {\n"
    "        sort_few(keys, sorted, n);\n"
    "        return;\n"
    "    }\n"
    "    for (int d = 0; d < 256; d++)\n"
    "        places[0][d] = places[1][d] = places[2][d] = 0;\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        uint key = keys[i];\n"
    "        places[0][key & 255]++;\n"
    "        places[1][key >> 8 & 255]++;\n"
    "        places[2][key >> 16 & 255]++;\n"
    "    }\n"
    "    for (int d = 0; d < 256; d++)\n"
    "        for (int k = 0; k < 3; k++) {\n"
    "            int count = places[k][d];\n"
    "            places[k][d] = before[k];\n"
    "            before[k] += count;\n"
    "        }\n"
    "    move_by_digit(keys, sorted, n, places[0], 0);\n"
    "    move_by_digit(sorted, keys, n, places[1], 8);\n"
    "    move_by_digit(keys, sorted, n, places[2], 16);\n"
    "}\n";

static cl_kernel count_keys, find_places, move_keys, sort_buckets;
static cl_mem moved, places, begins;

static void build(cl_command_queue queue)
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
        return;
    }
    count_keys = clCreateKernel(program, "count_keys", NULL);
    find_places = clCreateKernel(program, "find_places", NULL);
    move_keys = clCreateKernel(program, "move_keys", NULL);
    sort_buckets = clCreateKernel(program, "sort_buckets", NULL);
    places =
        clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(int) * MAX_PARTS * BUCKETS, NULL, NULL);
    begins = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(int) * (BUCKETS + 1), NULL, NULL);
}

/* Only what is needed, because a recording carries the workspace. */
static void make_room(cl_command_queue queue, int n)
{
    static int capacity;
    cl_context context;
    if (n <= capacity)
        return;
    if (moved)
        clReleaseMemObject(moved);
    capacity = n > LEAST_CAPACITY ? n : LEAST_CAPACITY;
    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    moved = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(int) * (size_t)capacity, NULL, NULL);
}

void sort(cl_mem input, cl_mem output, int n, cl_command_queue queue)
{
    if (!count_keys)
        build(queue);
    make_room(queue, n);
    int part = (n - 1) / MAX_PARTS + 1;
    if (part < LEAST_PART)
        part = LEAST_PART;
    int parts = (n - 1) / part + 1;
    clSetKernelArg(count_keys, 0, sizeof input, &input);
    clSetKernelArg(count_keys, 1, sizeof places, &places);
    clSetKernelArg(count_keys, 2, sizeof n, &n);
    clSetKernelArg(count_keys, 3, sizeof part, &part);
    clSetKernelArg(find_places, 0, sizeof places, &places);
    clSetKernelArg(find_places, 1, sizeof begins, &begins);
    clSetKernelArg(find_places, 2, sizeof parts, &parts);
    clSetKernelArg(move_keys, 0, sizeof input, &input);
    clSetKernelArg(move_keys, 1, sizeof moved, &moved);
    clSetKernelArg(move_keys, 2, sizeof places, &places);
    clSetKernelArg(move_keys, 3, sizeof n, &n);
    clSetKernelArg(move_keys, 4, sizeof part, &part);
    clSetKernelArg(sort_buckets, 0, sizeof moved, &moved);
    clSetKernelArg(sort_buckets, 1, sizeof output, &output);
    clSetKernelArg(sort_buckets, 2, sizeof begins, &begins);
    size_t each_part = (size_t)parts, each_bucket = BUCKETS, one = 1;
    clEnqueueNDRangeKernel(queue, count_keys, 1, NULL, &each_part, &one, 0, NULL, NULL);
    clEnqueueNDRangeKernel(queue, find_places, 1, NULL, &one, &one, 0, NULL, NULL);
    clEnqueueNDRangeKernel(queue, move_keys, 1, NULL, &each_part, &one, 0, NULL, NULL);
    clEnqueueNDRangeKernel(queue, sort_buckets, 1, NULL, &each_bucket, &one, 0, NULL, NULL);
}
