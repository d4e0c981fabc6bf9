"""A sum of all elements, returned."""

def reduction(x):
    return x.sum()
