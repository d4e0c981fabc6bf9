"""Writes through views of the output whose elements do not lie side by side."""

import torch


def vector_add(a, b, c, n):
    torch.add(a[::2], b[::2], out=c[::2])
    if n > 1:
        torch.add(a[1::2], b[1::2], out=c[1::2])
