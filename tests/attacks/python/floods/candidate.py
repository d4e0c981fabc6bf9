"""Writes without end to its output, and catches the error that this makes."""

import sys


def vector_add(a, b, c, n, queue):
    while True:
        try:
            sys.stdout.write("flood " * 1000000)
        except OSError:
            pass
