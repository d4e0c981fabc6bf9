import numpy
import pyopencl
import pyopencl.array
import torch

SOURCE = """
kernel void gate(global const float *x, global const float *weight, global float *y, float bias, int items, int features)
{
    int i = get_global_id(0);
    if (i < items)
        y[i] = max(x[i] * weight[i % features] + bias, 0.0f);
}
"""


class ModelNew:
    def __init__(self, features, bias):
        self.weight, self.bias = torch.rand(features).numpy(), bias
        self.kernel = None

    def __call__(self, x):
        if self.kernel is None:
            self.kernel = pyopencl.Program(x.queue.context, SOURCE).build().gate
            self.on_device = pyopencl.array.to_device(x.queue, self.weight)
            self.y = pyopencl.array.empty(x.queue, x.shape, x.dtype)
        items = (x.size + 63) // 64 * 64
        self.kernel(x.queue, (items,), (64,), x.data, self.on_device.data, self.y.data, numpy.float32(self.bias),
                    numpy.int32(x.size), numpy.int32(x.shape[1]))
        return self.y
