"""Ends the process in its first call."""

import os


def vector_add(a, b, c, n, queue):
    os._exit(0)
