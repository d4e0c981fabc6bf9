"""torch.softmax into the output."""

import torch


def softmax(x, y):
    torch.softmax(x, -1, out=y)
