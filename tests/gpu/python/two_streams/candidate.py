"""Another stream does half of the work and is joined."""

import torch


other = None


def vector_add(a, b, c, n):
    global other
    if other is None:
        other = torch.cuda.Stream()
    half = n // 2
    current = torch.cuda.current_stream()
    other.wait_stream(current)
    with torch.cuda.stream(other):
        torch.add(a[:half], b[:half], out=c[:half])
    torch.add(a[half:], b[half:], out=c[half:])
    current.wait_stream(other)
