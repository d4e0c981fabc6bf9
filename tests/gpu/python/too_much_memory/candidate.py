"""Asks for a tensor larger than any workspace."""

import torch


def vector_add(a, b, c, n):
    scratch = torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
    torch.add(a, b, out=c)
    del scratch
