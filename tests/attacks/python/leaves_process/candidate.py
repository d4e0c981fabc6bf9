"""Starts a process that lives on, and leaves a file for the next grade."""

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

import os
import subprocess
import tempfile

file_left = os.path.join(tempfile.gettempdir(), "left")
left = os.path.exists(file_left)


def vector_add(a, b, c, n, queue):
    if left:
        raise RuntimeError("something of an earlier grade is left")
    add(a, b, c, n, queue)
    with open(file_left, "w") as file:
        file.write("left")
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
