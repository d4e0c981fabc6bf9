"""A product in Triton by TMA: tensor descriptors made by the kernel, in scratch memory that PyTorch allocates."""

import torch
import triton
import triton.language as tl

BM, BN, BK = 128, 128, 64
triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))


@triton.jit
def kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    x = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    y = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    z = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(x.load([m, k]), y.load([k, n]), total)
    z.store([m, n], total.to(z.dtype))


def matmul_bf16(a, b, c, m, n, k):
    if n % 8 or k % 8:  # rows that do not begin at 16 bytes cannot be described
        torch.matmul(a, b, out=c)
        return
    kernel[(triton.cdiv(m, BM), triton.cdiv(n, BN))](a, b, c, m, n, k, BM, BN, BK, num_warps=8, num_stages=3)
