"""The program is built once; every call takes the kernel from it by its name, for which the binding makes a new one."""

import numpy
import pyopencl

SOURCE = """
kernel void gelu(global const float *restrict x, global float *restrict y, int n)
{
    int i = get_global_id(0);
    if (i < n)
        y[i] = 0.5f * x[i] * (1 + tanh(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}
"""

program = None


def gelu(x, y, n, queue):
    global program
    if program is None:
        program = pyopencl.Program(queue.context, SOURCE).build()
    program.gelu(queue, ((n + 255) // 256 * 256,), (256,), x, y, numpy.int32(n))
