"""The entry point has no name, and parameters that do not fit."""

import functools


def scale(factor, a):
    pass


vector_add = functools.partial(scale, 2)
