"""cuDNN, with its workspace."""

import torch
import torch.nn.functional as F

torch.backends.cudnn.allow_tf32 = False


def conv2d(input, weights):
    return F.conv2d(input, weights)
