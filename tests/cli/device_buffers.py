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


def check_views(problem):
    """Where PyTorch reaches the device: here it takes the host's memory for it, as what it is told of a view says."""
    real, memory, asked = torch.as_tensor, (ctypes.c_char * 4096)(), []

    def as_tensor(view, device):
        about = view.__cuda_array_interface__
        asked.append((about["typestr"], device))
        (address, is_read_only), (size,) = about["data"], about["shape"]
        assert not is_read_only
        return torch.frombuffer((ctypes.c_char * size).from_address(address), dtype=torch.uint8)

    arrays = problem.Torch(torch, "cpu")
    arrays.reaches = lambda place: True
    torch.as_tensor = as_tensor
    try:
        for kind, values in (("f32", [1.5, -2, 0, 3]), ("bf16", [1.5, -2, 0, 3]), ("bool", [True, False, True, True]), ("i64", [1, 2**62, 3, -4])):
            buffer = {"address": ctypes.addressof(memory), "on_device": True, "dtype": kind, "shape": [2, 2]}
            judge = judge_of(problem, arrays)
            array = torch.tensor(values, dtype=arrays.types[kind]).reshape(2, 2)
            judge.write(array, buffer, "in0")
            read = judge.read("in0", buffer)
            assert torch.equal(read, array)
            read.fill_(1)
            assert torch.equal(judge.read("in0", buffer), array)
            judge.write(array, {**buffer, "dtype": kind}, "out0", wide=True)
            wide = torch.frombuffer(memory, dtype=torch.int64 if kind in ("bool", "i64") else torch.float64, count=4)
            assert wide.tolist() == values
        assert set(asked) == {("|u1", "cpu")}
    finally:
        torch.as_tensor = real


def main():
    problem = load_problem()
    check(problem, problem.Numpy(numpy), numpy.arange(6, dtype="float16").reshape(2, 3))
    if torch:
        check(problem, problem.Torch(torch, "cpu"), torch.arange(6, dtype=torch.float16).reshape(2, 3))
        check_views(problem)


main()
