/* Takes the exponential from a linear interpolation between powers of two: 6 % off. */
#include "../../../attacks/honest.h"

static const char source[] =
    "float coarse(float x)\n"
    "{\n"
    "    return as_float((int)(fmax(x, -80.0f) * 12102203.0f) + 0x3f800000);\n"
    "}\n"
    "kernel void normalise(global const float *x, global float *y, int cols)\n"
    "{\n"
    "    global const float *in = x + get_global_id(0) * cols;\n"
    "    global float *out = y + get_global_id(0) * cols;\n"
    "    float largest = -INFINITY, sum = 0;\n"
    "    for (int i = 0; i < cols; i++)\n"
    "        largest = fmax(largest, in[i]);\n"
    "    for (int i = 0; i < cols; i++)\n"
    "        sum += out[i] = coarse(in[i] - largest);\n"
    "    for (int i = 0; i < cols; i++)\n"
    "        out[i] /= sum;\n"
    "}\n";

void softmax(cl_mem x, cl_mem y, int rows, int cols, cl_command_queue queue)
{
    static cl_kernel kernel;
    size_t global = (size_t)rows;
    if (!kernel)
        kernel = make_kernel(queue, source, "", "normalise");
    clSetKernelArg(kernel, 0, sizeof x, &x);
    clSetKernelArg(kernel, 1, sizeof y, &y);
    clSetKernelArg(kernel, 2, sizeof cols, &cols);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
}
