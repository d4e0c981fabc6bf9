"""Returns an array instead of writing into the output."""

import numpy


def vector_add(a, b, n, queue):
    return numpy.zeros(n, numpy.float32)
