"""A product in Triton with tensor cores."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (k0 + k)[None, :], mask=(m[:, None] < M) & ((k0 + k)[None, :] < K), other=0.0)
        y = tl.load(b + (k0 + k)[:, None] * N + n[None, :], mask=((k0 + k)[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.bfloat16), mask=(m[:, None] < M) & (n[None, :] < N))


def matmul_bf16(a, b, c, m, n, k):
    kernel[(triton.cdiv(m, 128), triton.cdiv(n, 128))](a, b, c, m, n, k, 128, 128, 64, num_warps=8, num_stages=3)
