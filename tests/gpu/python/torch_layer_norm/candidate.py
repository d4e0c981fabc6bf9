"""F.layer_norm, returned."""

import torch.nn.functional as F


def layernorm(x, weight, bias, eps):
    return F.layer_norm(x, weight.shape, weight, bias, eps)
