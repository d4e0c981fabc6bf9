"""F.rms_norm, returned."""

import torch.nn.functional as F


def rmsnorm(x, weight, eps):
    return F.rms_norm(x, weight.shape, weight, eps)
