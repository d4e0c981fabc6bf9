"""Calls a function of OpenCL that recordings have no place for, and takes no notice when it fails."""

import numpy
import pyopencl as cl

SOURCE = """
kernel void add(global const float *a, global const float *b, global float *c, int n)
{
    int i = get_global_id(0);
    if (i < n)
        c[i] = a[i] + b[i];
}
"""

kernel = None


def add(a, b, c, n, queue):
    global kernel
    if kernel is None:
        kernel = cl.Program(queue.context, SOURCE).build().add
    kernel(queue, ((n + 63) // 64 * 64,), None, a, b, c, numpy.int32(n))


def vector_add(a, b, c, n, queue):
    try:
        a.get_sub_region(0, 4 * n)
    except cl.Error:
        pass
    add(a, b, c, n, queue)
