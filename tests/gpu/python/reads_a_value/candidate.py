"""Waits for a value of the device in every call."""

import torch


def vector_add(a, b, c, n):
    torch.add(a, b, out=c)
    if c[0].item() > 1e9:
        c.zero_()
