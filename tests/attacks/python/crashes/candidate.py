"""Reads address 8."""

import ctypes


def vector_add(a, b, c, n, queue):
    ctypes.string_at(8)
