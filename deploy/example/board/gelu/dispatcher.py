"""A just-in-time dispatcher, as kernel libraries in Python have them: every call binds its arguments to a signature, describes each, makes a
key of that and of the kernel's source, finds what was compiled for it, and launches."""

import hashlib
import inspect

import numpy
import pyopencl

SOURCE = """
kernel void elementwise(global const float *restrict x, global float *restrict y, int n)
{
    int i = get_global_id(0);
    if (i < n)
        y[i] = 0.5f * x[i] * (1 + tanh(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
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
    return ((n + 255) // 256 * 256,), (256,), (x, y, numpy.int32(n))


def gelu(x, y, n, queue):
    elementwise(x, y, n, queue=queue)
