"""torch.compile: several modules with kernels of the same name."""

import torch


@torch.compile
def compiled(x):
    top = x.max(-1, keepdim=True).values
    e = (x - top).exp()
    return e / e.sum(-1, keepdim=True)


def softmax(x):
    return compiled(x)
