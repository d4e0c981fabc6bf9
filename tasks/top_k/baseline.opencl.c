/*
 * Top k of each row for a CPU behind OpenCL.  A work-item goes through a part of a row and keeps the k largest elements so far in
 * order.  Once there are k, an element must beat the last of them, which few do, so most of the work is comparing
 * vectors with that one number.  The lists of the parts of a row are then merged in the same way.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

#define WHOLE_ROW 32768 /* elements: longer rows are cut */
#define MAX_PARTS 64
#define ELEMENTS_PER_ITEM 4096 /* short rows are taken several to a work-item */
#define LEAST_LISTS (1 << 16)

static const char source[] =
    "enum { MAX_K = 256, STEP = 64 };\n"
    "\n"
    "/* The first k elements, the largest first; before them one that none beats. */\n"
    "struct list {\n"
    "    int k;\n"
    "    float last; /* what an element must beat */\n"
    "    float values[16 + MAX_K];\n"
    "    int indices[16 + MAX_K];\n"
    "};\n"
    "\n"
    "static void clear(struct list *l, int k)\n"
    "{\n"
    "    l->k = k;\n"
    "    l->last = -INFINITY;\n"
    "    for (int i = 0; i < 16 + k; i++) {\n"
    "        l->values[i] = i < 16 ? INFINITY : -INFINITY;\n"
    "        l->indices[i] = 0;\n"
    "    }\n"
    "}\n"
    "\n"
    "/* Sixteen places at a time, from the end: one keeps its element, takes the new one, or its "
    "neighbour's.  Elements come\n"
    " * in the order of their columns, so equal ones stay in it. */\n"
    "static void insert(struct list *l, float value, int index)\n"
    "{\n"
    "    if (!(value > l->last))\n"
    "        return;\n"
    "    for (int i = (l->k - 1) / 16 * 16 + 16; i >= 16; i -= 16) {\n"
    "        float16 own = vload16(0, l->values + i), before = vload16(0, l->values + i - 1);\n"
    "        int16 own_index = vload16(0, l->indices + i), before_index = vload16(0, l->indices + "
    "i - 1);\n"
    "        int16 stays = own >= value, shifts = before < value;\n"
    "        vstore16(select(select((float16)value, before, shifts), own, stays), 0, l->values + "
    "i);\n"
    "        vstore16(select(select((int16)index, before_index, shifts), own_index, stays), 0, "
    "l->indices + i);\n"
    "    }\n"
    "    l->last = l->values[16 + l->k - 1];\n"
    "}\n"
    "\n"
    "static void write_list(const struct list *l, global float *values, global int *indices)\n"
    "{\n"
    "    for (int i = 0; i < l->k; i++) {\n"
    "        values[i] = l->values[16 + i];\n"
    "        indices[i] = l->indices[16 + i];\n"
    "    }\n"
    "}\n"
    "\n"
    "static void insert16(struct list *l, global const float *x, int first)\n"
    "{\n"
    "    if (any(vload16(0, x + first) > l->last))\n"
    "        for (int i = first; i < first + 16; i++)\n"
    "            insert(l, x[i], i);\n"
    "}\n"
    "\n"
    "static void choose(global const float *x, int first, int end, int k, struct list *l)\n"
    "{\n"
    "    int i = first;\n"
    "    clear(l, k);\n"
    "    for (; i + STEP <= end; i += STEP) {\n"
    "        float16 a = vload16(0, x + i), b = vload16(0, x + i + 16);\n"
    "        float16 c = vload16(0, x + i + 32), d = vload16(0, x + i + 48);\n"
    "        if (any(fmax(fmax(a, b), fmax(c, d)) > l->last))\n"
    "            for (int j = i; j < i + STEP; j += 16)\n"
    "                insert16(l, x, j);\n"
    "    }\n"
    "    for (; i < end; i++)\n"
    "        insert(l, x[i], i);\n"
    "}\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void choose_rows(global const float *restrict x, global float *restrict values,\n"
    "                 global int *restrict indices, int rows, int cols, int k, int rows_per_item)\n"
    "{\n"
    "    int r = get_group_id(0) * rows_per_item, end = min(rows_per_item, rows - r) + r;\n"
    "    struct list l;\n"
    "    for (; r < end; r++) {\n"
    "        choose(x + (long)r * cols, 0, cols, k, &l);\n"
    "        write_list(&l, values + (long)r * k, indices + (long)r * k);\n"
    "    }\n"
    "}\n"
    "\n"
    "/* At most 16: the list is in registers, behind elements that none beats. */\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void choose_few(global const float *restrict x, global float *restrict values,\n"
    "                global int *restrict indices, int rows, int cols, int k, int rows_per_item)\n"
    "{\n"
    "    int r = get_group_id(0) * rows_per_item, end = min(rows_per_item, rows - r) + r;\n"
    "    const int16 order = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);\n"
    "    x += (long)r * cols;\n"
    "    for (; r < end; r++, x += cols) {\n"
    "        float16 v = order < 16 - k ? (float16)INFINITY : (float16)-INFINITY;\n"
    "        int16 at = 0;\n"
    "        float best[16];\n"
    "        int place[16];\n"
    "        for (int first = 0; first < cols; first += 16) {\n"
    "            int n = min(16, cols - first);\n"
    "            if (n == 16 && !any(vload16(0, x + first) > v.sf))\n"
    "                continue;\n"
    "            for (int i = first; i < first + n; i++) {\n"
    "                float value = x[i];\n"
    "                if (!(value > v.sf))\n"
    "                    continue;\n"
    "                int16 stays = v >= value;\n"
    "                float16 before = (float16)(INFINITY, v.s01234567, v.s89ab, v.scd, v.se);\n"
    "                int16 before_at = (int16)(0, at.s01234567, at.s89ab, at.scd, at.se);\n"
    "                int16 shifts = before < value;\n"
    "                v = select(select((float16)value, before, shifts), v, stays);\n"
    "                at = select(select((int16)i, before_at, shifts), at, stays);\n"
    "            }\n"
    "        }\n"
    "        vstore16(v, 0, best);\n"
    "        vstore16(at, 0, place);\n"
    "        for (int i = 0; i < k; i++) {\n"
    "            values[(long)r * k + i] = best[16 - k + i];\n"
    "            indices[(long)r * k + i] = place[16 - k + i];\n"
    "        }\n"
    "    }\n"
    "}\n"
    "\n"
    "/* The last part may have less than k elements; the end of its list then means nothing. */\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void choose_parts(global const float *restrict x, global float *restrict values,\n"
    "                  global int *restrict indices, int cols, int k, int part)\n"
    "{\n"
    "    int first = get_group_id(0) * part, end = min(part, cols - first) + first;\n"
    "    long at = (get_group_id(1) * get_num_groups(0) + get_group_id(0)) * k;\n"
    "    struct list l;\n"
    "    choose(x + (long)get_group_id(1) * cols, first, end, k, &l);\n"
    "    write_list(&l, values + at, indices + at);\n"
    "}\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void merge_parts(global const float *restrict from_values, global const int *restrict "
    "from_indices,\n"
    "                 global float *restrict values, global int *restrict indices, int cols, int "
    "k,\n"
    "                 int part, int parts)\n"
    "{\n"
    "    long row = get_group_id(0);\n"
    "    struct list l;\n"
    "    clear(&l, k);\n"
    "    for (int p = 0; p < parts; p++) {\n"
    "        long from = (row * parts + p) * k;\n"
    "        int n = min(k, cols - p * part);\n"
    "        for (int i = 0; i < n; i++)\n"
    "            insert(&l, from_values[from + i], from_indices[from + i]);\n"
    "    }\n"
    "    write_list(&l, values + row * k, indices + row * k);\n"
    "}\n";

static cl_kernel choose_rows, choose_few, choose_parts, merge_parts;
static cl_mem part_values, part_indices;

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
    choose_rows = clCreateKernel(program, "choose_rows", NULL);
    choose_few = clCreateKernel(program, "choose_few", NULL);
    choose_parts = clCreateKernel(program, "choose_parts", NULL);
    merge_parts = clCreateKernel(program, "merge_parts", NULL);
}

/* Only what is needed, because a recording carries the workspace. */
static void make_room(cl_command_queue queue, size_t n)
{
    static size_t capacity;
    cl_context context;
    if (n <= capacity)
        return;
    if (capacity) {
        clReleaseMemObject(part_values);
        clReleaseMemObject(part_indices);
    }
    capacity = n > LEAST_LISTS ? n : LEAST_LISTS;
    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    part_values = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(float) * capacity, NULL, NULL);
    part_indices = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(int) * capacity, NULL, NULL);
}

static void set_arguments(cl_kernel kernel, cl_mem *const *buffers, const int *const *numbers)
{
    cl_uint at = 0;
    for (; *buffers; buffers++)
        clSetKernelArg(kernel, at++, sizeof **buffers, *buffers);
    for (; *numbers; numbers++)
        clSetKernelArg(kernel, at++, sizeof **numbers, *numbers);
}

void top_k(cl_mem input, cl_mem values, cl_mem indices, int rows, int cols, int k,
           cl_command_queue queue)
{
    size_t one[2] = {1, 1};
    if (!choose_rows)
        build(queue);
    if (cols <= WHOLE_ROW) {
        int rows_per_item = cols < ELEMENTS_PER_ITEM ? ELEMENTS_PER_ITEM / cols : 1;
        size_t items = (size_t)((rows - 1) / rows_per_item) + 1;
        cl_kernel kernel = k <= 16 ? choose_few : choose_rows;
        set_arguments(kernel, (cl_mem *[]){&input, &values, &indices, NULL},
                      (const int *[]){&rows, &cols, &k, &rows_per_item, NULL});
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, one, 0, NULL, NULL);
        return;
    }
    int part = (cols - 1) / MAX_PARTS + 1;
    if (part < WHOLE_ROW)
        part = WHOLE_ROW;
    int parts = (cols - 1) / part + 1;
    size_t groups[2] = {(size_t)parts, (size_t)rows};
    make_room(queue, groups[0] * groups[1] * (size_t)k);
    set_arguments(choose_parts, (cl_mem *[]){&input, &part_values, &part_indices, NULL},
                  (const int *[]){&cols, &k, &part, NULL});
    set_arguments(merge_parts, (cl_mem *[]){&part_values, &part_indices, &values, &indices, NULL},
                  (const int *[]){&cols, &k, &part, &parts, NULL});
    clEnqueueNDRangeKernel(queue, choose_parts, 2, NULL, groups, one, 0, NULL, NULL);
    clEnqueueNDRangeKernel(queue, merge_parts, 1, NULL, &groups[1], one, 0, NULL, NULL);
}
