import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(features))
        self.bias = bias

    def forward(self, x):
        return torch.relu(torch.addcmul(torch.full_like(x, self.bias), x, self.weight))
