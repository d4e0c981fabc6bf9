"""Raises SystemExit in its first call."""

import sys


def vector_add(a, b, c, n, queue):
    sys.exit(0)
