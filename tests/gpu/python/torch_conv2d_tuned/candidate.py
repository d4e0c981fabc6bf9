"""cuDNN picks its algorithm by timing all of them in the first call of a shape."""

import torch
import torch.nn.functional as F

torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True


def conv2d(input, weights):
    return F.conv2d(input, weights)
