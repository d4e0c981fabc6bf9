"""A file that is not Python."""

def vector_add(a, b, c, n, queue):
    return a +
