"""Adds random numbers times nought: the same numbers in every replay."""

import torch


def vector_add(a, b, c, n):
    torch.add(a, b + torch.rand_like(b) * 0, out=c)
