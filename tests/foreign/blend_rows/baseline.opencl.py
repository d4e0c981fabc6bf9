import numpy
import pyopencl

SOURCE = """
kernel void blend(global const float *x, global const float *y, global float *z, float factor, int rows, int cols)
{
    int i = get_global_id(0);
    if (i < rows * cols)
        z[i] = factor * x[i] + y[i % cols * rows + i / cols];
}
"""
kernel = None


def custom_kernel(data):
    global kernel
    x, y, settings, output = data
    if kernel is None:
        kernel = pyopencl.Program(x.queue.context, SOURCE).build().blend
    rows, cols = x.shape
    assert y.shape == (rows, cols) and y.strides == (4, 4 * rows)
    items = (x.size + 63) // 64 * 64
    kernel(x.queue, (items,), (64,), x.data, y.data, output.data, numpy.float32(settings["factor"]), numpy.int32(rows), numpy.int32(cols))
    return output
