"""vector_add in Python, for the OpenCL device: kgrade grade vector_add.py --task vector_add"""

import numpy
import pyopencl

SOURCE = """
kernel void add(global const float *a, global const float *b, global float *c, int n)
{
    int i = get_global_id(0);
    if (i < n)
        c[i] = a[i] + b[i];
}
"""

add = None


def vector_add(a, b, c, n, queue):
    global add
    if add is None:  # the first call may build; it is timed and reported as `cold`, and not scored
        add = pyopencl.Program(queue.context, SOURCE).build().add
    size = (n + 63) // 64 * 64
    add(queue, (size,), (64,), a, b, c, numpy.int32(n))
