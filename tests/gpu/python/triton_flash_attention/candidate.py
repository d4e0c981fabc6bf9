"""Flash attention in Triton: causal, queries of several heads share keys, any length."""

import triton
import triton.language as tl


@triton.jit
def kernel(q, k, v, o, seq, dim, group, scale, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    first, head = tl.program_id(0) * BM, tl.program_id(1).to(tl.int64)
    m, n, d = first + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BD)
    q += head * seq * dim
    o += head * seq * dim
    k += head // group * seq * dim
    v += head // group * seq * dim
    rows = (m[:, None] < seq) & (d[None, :] < dim)
    x = tl.load(q + m[:, None] * dim + d[None, :], mask=rows, other=0.0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, BD), tl.float32)
    for start in range(0, tl.minimum(first + BM, seq), BN):
        at = start + n
        there = (at[:, None] < seq) & (d[None, :] < dim)
        y = tl.load(k + at[:, None] * dim + d[None, :], mask=there, other=0.0)
        s = tl.dot(x, tl.trans(y)) * scale
        s = tl.where((at[None, :] <= m[:, None]) & (at[None, :] < seq), s, -float("inf"))
        higher = tl.maximum(top, tl.max(s, 1))
        e = tl.exp2(s - higher[:, None])
        shrunk = tl.exp2(top - higher)
        total = total * shrunk + tl.sum(e, 1)
        z = tl.load(v + at[:, None] * dim + d[None, :], mask=there, other=0.0)
        sums = sums * shrunk[:, None] + tl.dot(e.to(z.dtype), z)
        top = higher
    tl.store(o + m[:, None] * dim + d[None, :], (sums / total[:, None]).to(o.dtype.element_ty), mask=rows)


def attention(q, k, v, o, batch, heads, kv_heads, seq, head_dim):
    width = max(16, triton.next_power_of_2(head_dim))
    scale = 1.4426950408889634 / head_dim**0.5  # log2(e): exponentials are powers of two
    kernel[(triton.cdiv(seq, 64), batch * heads)](q, k, v, o, seq, head_dim, heads // kv_heads, scale, 64, 64, width, num_warps=4,
                                                  num_stages=2)
