/*
 * Causal attention in bf16 for a CPU behind OpenCL, in one pass over the keys.  A work-group of one work-item takes QUERIES
 * queries of a head, one to a lane of two vectors: both products are then 8 x 32 tiles in vector registers that take keys and
 * values as they lie, and maxima and sums of the softmax need nothing across lanes.  Sums are relative to a query's
 * largest score so far.  OpenCL C has no bf16: a number is widened by putting its bits above 16 zeros, and rounded to
 * nearest even by adding to its bits.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>

#define QUERIES 32

/* QUERIES is the same here. */
static const char source[] =
    "enum { QUERIES = 32, KEYS = 32, MAX_DIM = 128 };\n"
    "\n"
    "/* Rows of dim elements, a multiple of 8; zeros after the last. */\n"
    "static void load(local float (*to)[MAX_DIM], global const ushort *from, int rows, int dim)\n"
    "{\n"
    "    for (int r = 0; r < KEYS; r++)\n"
    "        for (int e = 0; e < dim; e += 8) {\n"
    "            ushort8 v = r < rows ? vload8(0, from + (long)r * dim + e) : (ushort8)(0);\n"
    "            vstore8(as_float8(convert_uint8(v) << 16), 0, to[r] + e);\n"
    "        }\n"
    "}\n"
    "\n"
    "#define ZERO(i) float16 s##i = 0.0f, t##i = 0.0f;\n"
    "#define START(i) float16 s##i = to[2 * i] * fade, t##i = to[2 * i + 1] * fade2;\n"
    "#define STEP(i, factor) { float x = factor; s##i += x * line; t##i += x * line2; }\n"
    "#define FINISH(i) to[2 * i] = s##i, to[2 * i + 1] = t##i;\n"
    "\n"
    "/* The scores of KEYS keys, QUERIES to a key. */\n"
    "static void score(local float (*keys)[MAX_DIM], local const float16 *queries,\n"
    "                  local float16 *scores, int dim)\n"
    "{\n"
    "    for (int j = 0; j < KEYS; j += 8) {\n"
    "        local float (*rows)[MAX_DIM] = keys + j;\n"
    "        local float16 *to = scores + 2 * j;\n"
    "        ZERO(0) ZERO(1) ZERO(2) ZERO(3) ZERO(4) ZERO(5) ZERO(6) ZERO(7)\n"
    "        for (int e = 0; e < dim; e++) {\n"
    "            float16 line = queries[2 * e], line2 = queries[2 * e + 1];\n"
    "            STEP(0, rows[0][e]) STEP(1, rows[1][e]) STEP(2, rows[2][e]) STEP(3, rows[3][e])\n"
    "            STEP(4, rows[4][e]) STEP(5, rows[5][e]) STEP(6, rows[6][e]) STEP(7, rows[7][e])\n"
    "        }\n"
    "        FINISH(0) FINISH(1) FINISH(2) FINISH(3) FINISH(4) FINISH(5) FINISH(6) FINISH(7)\n"
    "    }\n"
    "}\n"
    "\n"
    "/* Adds KEYS values by their weights to what was summed before, which fades. */\n"
    "static void add(local float (*values)[MAX_DIM], local const float16 *weights,\n"
    "                local float16 *sums, int dim, float16 fade, float16 fade2)\n"
    "{\n"
    "    for (int e = 0; e < dim; e += 8) {\n"
    "        local float16 *to = sums + 2 * e;\n"
    "        START(0) START(1) START(2) START(3) START(4) START(5) START(6) START(7)\n"
    "        for (int j = 0; j < KEYS; j++) {\n"
    "            float16 line = weights[2 * j], line2 = weights[2 * j + 1];\n"
    "            local const float *row = values[j] + e;\n"
    "            STEP(0, row[0]) STEP(1, row[1]) STEP(2, row[2]) STEP(3, row[3])\n"
    "            STEP(4, row[4]) STEP(5, row[5]) STEP(6, row[6]) STEP(7, row[7])\n"
    "        }\n"
    "        FINISH(0) FINISH(1) FINISH(2) FINISH(3) FINISH(4) FINISH(5) FINISH(6) FINISH(7)\n"
    "    }\n"
    "}\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void attend(global const ushort *restrict Q, global const ushort *restrict K,\n"
    "            global const ushort *restrict V, global ushort *restrict O, int group, int seq,\n"
    "            int dim, float scale)\n"
    "{\n"
    "    local float16 queries[2 * MAX_DIM], sums[2 * MAX_DIM], weights[2 * KEYS];\n"
    "    local float keys[KEYS][MAX_DIM], values[KEYS][MAX_DIM];\n"
    "    local float *lanes = (local float *)queries;\n"
    "    int head = get_group_id(0);\n"
    "    int first = (get_num_groups(1) - 1 - get_group_id(1)) * QUERIES; /* most keys first */\n"
    "    int height = min(QUERIES, seq - first);\n"
    "    long own = ((long)head * seq + first) * dim, shared = (long)(head / group) * seq * dim;\n"
    "    for (int e = 0; e < dim; e++)\n"
    "        for (int r = 0; r < QUERIES; r++)\n"
    "            lanes[e * QUERIES + r] =\n"
    "                r < height ? as_float((uint)Q[own + r * dim + e] << 16) * scale : 0;\n"
    "    for (int i = 0; i < 2 * dim; i++)\n"
    "        sums[i] = 0.0f;\n"
    "\n"
    "    int16 place = first + (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);\n"
    "    float16 most = -INFINITY, most2 = -INFINITY, total = 0.0f, total2 = 0.0f;\n"
    "    for (int key = 0; key < first + height; key += KEYS) {\n"
    "        load(keys, K + shared + (long)key * dim, seq - key, dim);\n"
    "        load(values, V + shared + (long)key * dim, seq - key, dim);\n"
    "        score(keys, queries, weights, dim);\n"
    "        if (key + KEYS > first)\n"
    "            for (int j = 0; j < KEYS; j++) {\n"
    "                weights[2 * j] =\n"
    "                    select((float16)(-INFINITY), weights[2 * j], place >= key + j);\n"
    "                weights[2 * j + 1] =\n"
    "                    select((float16)(-INFINITY), weights[2 * j + 1], place + 16 >= key + j);\n"
    "            }\n"
    "        float16 before = most, before2 = most2;\n"
    "        for (int j = 0; j < KEYS; j++) {\n"
    "            most = fmax(most, weights[2 * j]);\n"
    "            most2 = fmax(most2, weights[2 * j + 1]);\n"
    "        }\n"
    "        float16 fade = exp2(before - most), fade2 = exp2(before2 - most2);\n"
    "        total *= fade, total2 *= fade2;\n"
    "        for (int j = 0; j < KEYS; j++) {\n"
    "            total += weights[2 * j] = exp2(weights[2 * j] - most);\n"
    "            total2 += weights[2 * j + 1] = exp2(weights[2 * j + 1] - most2);\n"
    "        }\n"
    "        add(values, weights, sums, dim, fade, fade2);\n"
    "    }\n"
    "\n"
    "    for (int e = 0; e < dim; e++)\n"
    "        sums[2 * e] /= total, sums[2 * e + 1] /= total2;\n"
    "    lanes = (local float *)sums;\n"
    "    for (int r = 0; r < height; r++)\n"
    "        for (int e = 0; e < dim; e++) {\n"
    "            uint bits = as_uint(lanes[e * QUERIES + r]);\n"
    "            O[own + r * dim + e] = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;\n"
    "        }\n"
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
    return clCreateKernel(program, "attend", NULL);
}

void attention(cl_mem q, cl_mem k, cl_mem v, cl_mem o, int batch, int heads, int kv_heads, int seq,
               int head_dim, cl_command_queue queue)
{
    if (!kernel)
        kernel = build(queue);
    int group = heads / kv_heads;
    float scale = 1.44269504f / sqrtf((float)head_dim); /* log2 e: exponentials are powers of two */
    clSetKernelArg(kernel, 0, sizeof q, &q);
    clSetKernelArg(kernel, 1, sizeof k, &k);
    clSetKernelArg(kernel, 2, sizeof v, &v);
    clSetKernelArg(kernel, 3, sizeof o, &o);
    clSetKernelArg(kernel, 4, sizeof group, &group);
    clSetKernelArg(kernel, 5, sizeof seq, &seq);
    clSetKernelArg(kernel, 6, sizeof head_dim, &head_dim);
    clSetKernelArg(kernel, 7, sizeof scale, &scale);
    size_t groups[2] = {(size_t)batch * (size_t)heads, ((size_t)seq + QUERIES - 1) / QUERIES};
    size_t one[2] = {1, 1};
    clEnqueueNDRangeKernel(queue, kernel, 2, NULL, groups, one, 0, NULL, NULL);
}
