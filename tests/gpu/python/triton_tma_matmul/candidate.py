"""A product in Triton by TMA: tensor descriptors made on the host lie among the kernel's arguments."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

BM, BN, BK = 128, 128, 64


@triton.jit
def kernel(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load([m, k]), b.load([k, n]), total)
    c.store([m, n], total.to(c.dtype))


def matmul_bf16(a, b, c, m, n, k):
    if n % 8 or k % 8:  # rows that do not begin at 16 bytes cannot be described
        torch.matmul(a, b, out=c)
        return
    described = [TensorDescriptor.from_tensor(x, block) for x, block in ((a, [BM, BK]), (b, [BK, BN]), (c, [BM, BN]))]
    kernel[(triton.cdiv(m, BM), triton.cdiv(n, BN))](*described, k, BM, BN, BK, num_warps=8, num_stages=3)
