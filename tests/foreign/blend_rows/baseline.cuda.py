import torch


def custom_kernel(data):
    x, y, settings, output = data
    return torch.add(y, x, alpha=settings["factor"], out=output)
