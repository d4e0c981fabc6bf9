"""A product by addmm with a scratch tensor made in the first call."""

import torch


torch.backends.cuda.matmul.allow_tf32 = False
zero = None


def matmul(a, b, c):
    global zero
    if zero is None:
        zero = torch.zeros(1, device="cuda")
    torch.addmm(zero, a, b, out=c)
