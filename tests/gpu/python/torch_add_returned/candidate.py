"""A sum that is returned."""

import torch


def solve(a, b):
    return a + b
