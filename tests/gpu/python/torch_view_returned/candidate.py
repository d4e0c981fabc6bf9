"""A view of the input, returned: its memory is not laid out as the output."""

def transpose(x):
    return x.t()
