"""Computes on the CPU and copies the answer."""

def vector_add(a, b, c, n):
    c.copy_(a.cpu() + b.cpu())
