import numpy
from drawing import draw


def make_inputs(rows, cols, seed):
    return draw(seed, rows, cols), draw(seed + 1, cols, rows).T, {"factor": 2.0}, numpy.empty((rows, cols), "float32")


def blend(data):
    x, y, settings, output = data
    output[...] = settings["factor"] * x + y
    return output


def is_blend(data, output):
    close = numpy.allclose(output, blend(data), rtol=1e-5, atol=1e-5)
    return close, "" if close else "it is no blend"
