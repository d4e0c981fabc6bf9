"""Two hundred small operators."""

def vector_add(a, b, c, n):
    x = a
    for _ in range(100):
        x = x * 1.0 + 0.0
    c.copy_(x + b)
