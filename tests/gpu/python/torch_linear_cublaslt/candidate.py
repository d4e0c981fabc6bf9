"""cuBLASLt by name, with its workspace and a bias of its epilogue."""

import torch
import torch.nn.functional as F

torch.backends.cuda.preferred_blas_library("cublaslt")
biases = {}


def matmul_bf16(a, b, m, n):
    if n not in biases:
        biases[n] = torch.zeros(n, device="cuda", dtype=torch.bfloat16)
    return F.linear(a, b.t(), biases[n])
