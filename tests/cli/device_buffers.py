"""How problem.py goes about buffers on the device that the task's arrays cannot reach: through the library.  No address of the device is
followed.  Started by test_python.py as `python3 device_buffers.py SOURCE_DIR`, in an interpreter that has NumPy, and perhaps PyTorch."""

import ctypes
import importlib.util
import os
import sys

import numpy

try:
    import torch
except ImportError:
    torch = None

AT = 1 << 60
MEMORY = {}


class Library:
    fails = False

    def kgrade_python_store(self, at, source, size):
        MEMORY[at] = ctypes.string_at(source, size)
        return -self.fails

    def kgrade_python_fetch(self, at, size, to):
        ctypes.memmove(to, MEMORY[at], size)
        return -self.fails


def load_problem():
    spec = importlib.util.spec_from_file_location("problem", os.path.join(sys.argv[1], "grader", "python", "problem.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def judge_of(problem, arrays):
    judge = problem.Judge(Library(), "cuda")
    judge.problem = problem.Problem.__new__(problem.Problem)
    judge.problem.arrays = problem.Arrays("cuda")
    judge.problem.arrays.known = [arrays]
    judge.problem.about = {"variants": [{"data": {"tuple": [{"buffer": "in0"}, {"buffer": "in1"}]}}]}
    judge.libraries = {"in0": arrays, "in1": arrays}
    return judge


def fails(error, function, *arguments):
    try:
        function(*arguments)
    except error:
        return True
    return False


def check(problem, arrays, array):
    """array: six numbers of two bytes each."""
    judge = judge_of(problem, arrays)
    buffer = {"address": AT, "on_device": True, "dtype": "f16", "shape": [2, 3]}
    judge.write(array, buffer, "in0")
    judge.write(array, {**buffer, "address": AT + 1, "dtype": "f64"}, "out0", wide=True)
    numbers = numpy.arange(6, dtype="float16").reshape(2, 3)
    assert MEMORY[AT] == numbers.tobytes()
    assert MEMORY[AT + 1] == numbers.astype("float64").tobytes()
    request = {"variant": 0, "inputs": {"in0": buffer}, "outputs": {"in1": {**buffer, "address": AT + 2}}}
    given, empty = judge.rebuild(request, True)
    assert given.tolist() == numbers.tolist() and "float64" in str(given.dtype)
    assert empty.tolist() == [[0] * 3] * 2
    given[...] = 9
    assert judge.read("in0", buffer).tolist() == numbers.tolist()
    nothing = {**buffer, "address": AT + 3, "shape": [0, 3]}
    judge.write(array[:0], nothing, "in0")
    judge.library.fails = True
    assert fails(problem.Failure, judge.read, "in0", buffer)
    assert fails(problem.Failure, judge.write, array, buffer, "in0")


def main():
    problem = load_problem()
    check(problem, problem.Numpy(numpy), numpy.arange(6, dtype="float16").reshape(2, 3))
    if torch:
        check(problem, problem.Torch(torch, "cpu"), torch.arange(6, dtype=torch.float16).reshape(2, 3))


main()
