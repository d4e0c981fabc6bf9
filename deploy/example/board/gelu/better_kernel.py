"""A kernel that is really faster, behind the dispatcher of dispatcher.py: sixteen elements at a time, and one exponential in place of tanh."""

import hashlib
import inspect

import numpy
import pyopencl

SOURCE = """
kernel void elementwise(global const float *restrict x, global float *restrict y, int n)
{
    int i = get_global_id(0) * 16;
    if (i + 16 <= n) {
        float16 v = vload16(0, x + i);
        vstore16(v / (1 + exp(-1.5957691216f * (v + 0.044715f * v * v * v))), 0, y + i);
    } else
        for (; i < n; i++)
            y[i] = x[i] / (1 + exp(-1.5957691216f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}
"""


def describe(name, value):
    if isinstance(value, pyopencl.MemoryObject):
        return f"{name}: buffer, {value.size} bytes, aligned to {value.size & -value.size}"
    return f"{name}: {type(value).__name__}, {'1' if value == 1 else 'divided by 16' if value % 16 == 0 else 'any'}"


class Jit:
    def __init__(self, function, source):
        self.function, self.source, self.compiled = function, source, {}

    def key(self, arguments, queue):
        device = queue.device
        parts = [describe(name, value) for name, value in arguments.items()]
        parts += [self.source, device.name, device.driver_version, pyopencl.VERSION_TEXT]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def __call__(self, *arguments, queue):
        bound = inspect.signature(self.function).bind(*arguments)
        bound.apply_defaults()
        key = self.key(bound.arguments, queue)
        if key not in self.compiled:
            self.compiled[key] = pyopencl.Program(queue.context, self.source).build()
        kernel = getattr(self.compiled[key], self.function.__name__)
        size, group, values = self.function(**bound.arguments)
        kernel(queue, size, group, *values)


def launch(function):
    return Jit(function, SOURCE)


@launch
def elementwise(x, y, n):
    return ((n + 511) // 512 * 32,), (32,), (x, y, numpy.int32(n))


def gelu(x, y, n, queue):
    elementwise(x, y, n, queue=queue)
