"""What the problems' generators and references share."""

import torch


def normal(*shape):
    return torch.randn(*shape)


def bf16(*shape):
    return torch.randn(*shape).to(torch.bfloat16)


def f16(*shape):
    return torch.randn(*shape).to(torch.float16)


def index(limit, *shape):
    return torch.randint(limit, shape)


def wide(x):
    """In which the reference computes what is narrower."""
    return x if x.dtype == torch.float64 else x.float()


def fp8(x):
    """Rounded to eight bits, and wide again."""
    return wide(x).to(torch.float8_e4m3fn).to(wide(x).dtype)


def attention(q, k, v, hidden=None):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if hidden is not None:
        scores = scores.masked_fill(hidden, -float("inf"))
    return scores.softmax(-1) @ v


def causal_attention(q, k, v):
    n = q.shape[-2]
    return attention(q, k, v, torch.ones(n, n, dtype=torch.bool, device=q.device).triu(1))
