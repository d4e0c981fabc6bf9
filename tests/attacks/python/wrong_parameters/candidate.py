"""An entry point with too few parameters."""

def vector_add(a):
    pass
