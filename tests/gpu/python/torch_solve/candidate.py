"""linalg.solve waits for the device, to say whether the system can be solved."""

import torch


def vector_add(a, b, c, n):
    system = 2 * torch.eye(16, device="cuda")
    torch.add(a, b, out=c)
    c[:1].add_(torch.linalg.solve(system, system)[0, 1] * 0)
