/*
 * The product of two fp8 matrices for a CPU behind OpenCL, in the manner of GotoBLAS.  OpenCL C has neither fp8 nor bf16.  fp8 is
 * widened by putting exponent and mantissa where a float has them, which is the number times 2^-120, and multiplying.  A
 * work-group of one work-item makes BLOCK_M rows and TILE_N columns.  Slices of B (transposed) and of A are widened and scaled into
 * the L1 cache, sums in f32 live in vector registers within a slice and in local memory between slices.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

#define TILE_N 32
#define BLOCK_M 128

/* Tile and block sizes here agree with those above. */
static const char source[] =
    "enum { TILE_M = 8, TILE_N = 32, BLOCK_M = 128, BLOCK_K = 128 };\n"
    "\n"
    "static float16 widen(global const uchar *p, float scale)\n"
    "{\n"
    "    uint16 v = convert_uint16(vload16(0, p));\n"
    "    return as_float16((v & 0x7f) << 20 | (v & 0x80) << 24) * 0x1p120f * scale;\n"
    "}\n"
    "\n"
    "static void store(float16 v, global ushort *p)\n"
    "{\n"
    "    uint16 bits = as_uint16(v);\n"
    "    vstore16(convert_ushort16((bits + 0x7fff + (bits >> 16 & 1)) >> 16), 0, p);\n"
    "}\n"
    "\n"
    "#define START(i) float16 s##i = sums[2 * (i)], t##i = sums[2 * (i) + 1];\n"
    "#define STEP(i) { float x = rows[i][p]; s##i += x * line; t##i += x * line2; }\n"
    "#define FINISH(i) sums[2 * (i)] = s##i, sums[2 * (i) + 1] = t##i;\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void multiply(global const uchar *restrict A, global const uchar *restrict B,\n"
    "              global const float *restrict a_scale, global const float *restrict b_scale,\n"
    "              global ushort *restrict C, int m, int n, int k)\n"
    "{\n"
    "    local float16 panel[2 * BLOCK_K], block_sums[2 * BLOCK_M];\n"
    "    local float rows[TILE_M][BLOCK_K];\n"
    "    int column = get_group_id(0) * TILE_N, row0 = get_group_id(1) * BLOCK_M;\n"
    "    int height = min(BLOCK_M, m - row0), blocks = k / BLOCK_K;\n"
    "    for (int i = 0; i < 2 * BLOCK_M; i++)\n"
    "        block_sums[i] = 0.0f;\n"
    "    for (int block = 0; block < blocks; block++) {\n"
    "        const int depth = BLOCK_K;\n"
    "        local float *to = (local float *)panel;\n"
    "        float scale = b_scale[column / BLOCK_K * blocks + block];\n"
    "        for (int j = 0; j < TILE_N; j++) {\n"
    "            global const uchar *b = B + (long)(column + j) * k + block * BLOCK_K;\n"
    "            for (int p = 0; p < BLOCK_K; p += 16) {\n"
    "                float lanes[16];\n"
    "                vstore16(widen(b + p, scale), 0, lanes);\n"
    "                for (int q = 0; q < 16; q++)\n"
    "                    to[(p + q) * TILE_N + j] = lanes[q];\n"
    "            }\n"
    "        }\n"
    "        for (int r = 0; r < height; r += TILE_M) {\n"
    "            local float16 *sums = block_sums + 2 * r;\n"
    "            int used = min(TILE_M, height - r);\n"
    "            for (int i = 0; i < used; i++) {\n"
    "                long row = row0 + r + i;\n"
    "                global const uchar *a = A + row * k + block * BLOCK_K;\n"
    "                for (int p = 0; p < BLOCK_K; p += 16)\n"
    "                    vstore16(widen(a + p, a_scale[row * blocks + block]), 0, rows[i] + p);\n"
    "            }\n"
    "            if (used == 1) {\n"
    "                START(0)\n"
    "                for (int p = 0; p < depth; p++) {\n"
    "                    float16 line = panel[2 * p], line2 = panel[2 * p + 1];\n"
    "                    STEP(0)\n"
    "                }\n"
    "                FINISH(0)\n"
    "                continue;\n"
    "            }\n"
    "            START(0) START(1) START(2) START(3) START(4) START(5) START(6) START(7)\n"
    "            for (int p = 0; p < depth; p++) {\n"
    "                float16 line = panel[2 * p], line2 = panel[2 * p + 1];\n"
    "                STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)\n"
    "            }\n"
    "            FINISH(0) FINISH(1) FINISH(2) FINISH(3) FINISH(4) FINISH(5) FINISH(6) FINISH(7)\n"
    "        }\n"
    "    }\n"
    "    global ushort *c = C + (long)row0 * n + column;\n"
    "    for (int r = 0; r < height; r++, c += n) {\n"
    "        store(block_sums[2 * r], c);\n"
    "        store(block_sums[2 * r + 1], c + 16);\n"
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
    return clCreateKernel(program, "multiply", NULL);
}

void matmul_fp8(cl_mem a, cl_mem b, cl_mem a_scale, cl_mem b_scale, cl_mem c, int m, int n, int k,
                cl_command_queue queue)
{
    if (!kernel)
        kernel = build(queue);
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof a_scale, &a_scale);
    clSetKernelArg(kernel, 3, sizeof b_scale, &b_scale);
    clSetKernelArg(kernel, 4, sizeof c, &c);
    clSetKernelArg(kernel, 5, sizeof m, &m);
    clSetKernelArg(kernel, 6, sizeof n, &n);
    clSetKernelArg(kernel, 7, sizeof k, &k);
    size_t groups[2] = {(size_t)n / TILE_N, ((size_t)m + BLOCK_M - 1) / BLOCK_M};
    size_t one[2] = {1, 1};
    clEnqueueNDRangeKernel(queue, kernel, 2, NULL, groups, one, 0, NULL, NULL);
}
