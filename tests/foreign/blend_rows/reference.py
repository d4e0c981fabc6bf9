import numpy
from drawing import draw


def make_inputs(rows, cols, seed):
    return draw(seed, rows, cols), draw(seed + 1, cols, rows).T, {"factor": 2.0}, numpy.empty((rows, cols), "float32")


def blend(data):
    x, y, settings, output = data
    output[...] = settings["factor"] * x + y
    return output


def is_blend(data, output):
    differences = abs(output - blend(data)) > 1e-4  # of which what is no number has none
    return not differences.any(), "it is no blend" if differences.any() else ""
