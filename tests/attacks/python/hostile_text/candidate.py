"""Raises an exception whose text is long, in four bytes a character, and has controls for terminals."""

def vector_add(a, b, c, n, queue):
    raise ValueError("\0\x1b[2J" + "\U0001f600" * 10000)
