"""A Triton kernel without a mask writes behind the output."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, o, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i) + tl.load(y + i))


def vector_add(a, b, c, n):
    kernel[(triton.cdiv(n, 1024),)](a, b, c, 1024)
