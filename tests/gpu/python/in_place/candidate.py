"""Works in place in the output."""

def vector_add(a, b, c, n):
    c.copy_(a)
    c.add_(b)
