"""Works in the first calls and raises in the one that is captured."""

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

calls = 0


def vector_add(a, b, c, n, queue):
    global calls
    calls += 1
    if calls > 21:
        raise RuntimeError("enough")
    add(a, b, c, n, queue)
