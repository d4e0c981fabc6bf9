"""Asks for a framework that the interpreter does not have."""

import framework_that_nobody_has


def vector_add(a, b, c, n, queue):
    pass
