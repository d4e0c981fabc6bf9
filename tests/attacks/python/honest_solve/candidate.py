"""The entry may be called solve and be an object; it may take parameters by keyword, and memory from an allocator."""

import numpy
import pyopencl as cl
from pyopencl.tools import ImmediateAllocator, MemoryPool

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


class Solver:
    def __init__(self):
        self.pool = None

    def __call__(self, a, b, block=64, c=None, *rest, n, queue):
        assert block == 64 and not rest
        if self.pool is None:
            self.pool = MemoryPool(ImmediateAllocator(queue))
        sum = self.pool.allocate(4 * n)
        add(a, b, sum, n, queue)
        cl.enqueue_copy(queue, c, sum, byte_count=4 * n)


solve = Solver()
