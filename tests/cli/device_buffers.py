"""How problem.py goes about buffers on the device that the task's arrays cannot reach: through the library.  No address of the device is
followed.  Started by test_python.py as `python3 device_buffers.py SOURCE_DIR`, in an interpreter that has NumPy, and perhaps PyTorch."""

import ctypes
import importlib.util
import gc
import json
import os
import sys
import weakref

import numpy

try:
    import torch
except ImportError:
    torch = None

AT = 1 << 60
MEMORY = {}


class Library:
    fails = False
    told = None

    def kgrade_python_answer(self, answer):
        self.told = answer

    def kgrade_python_fail(self, code, message, hint):
        self.told = code.decode()

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


class Arrays:
    """Of a library whose memory ends at `where`."""

    def __init__(self, numpy_arrays):
        self.real, self.where, self.error, self.made, self.calls = numpy_arrays, None, None, [], []

    def __getattr__(self, name):
        if self.where == name:
            raise self.error
        return getattr(self.real, name)

    def read(self, *arguments):
        array = self.real.read(*arguments)
        self.made.append(weakref.ref(array))
        if self.where == "read":
            raise self.error
        return array

    def settle(self):
        self.calls.append("settle")
        if self.where == "settle":
            raise self.error

    def make_room(self):
        self.calls.append("make_room")


def check_memory(problem):
    """Wherever it ends, the judge learns that it was memory, nothing is queued still, and no array stays."""
    arrays = Arrays(problem.Numpy(numpy))
    judge = judge_of(problem, arrays)
    judge.problem.about = {"variants": [{"data": {"tuple": [{"buffer": "in0"}]}, "outputs": {"buffer": "out0"}}], "double": True, "form": "arguments"}
    buffers = (ctypes.c_double * 4)(), (ctypes.c_double * 4)()
    given, wide = ({"address": ctypes.addressof(b), "on_device": False, "dtype": "f64", "shape": [4]} for b in buffers)
    request = json.dumps({"variant": 0, "inputs": {"in0": given}, "outputs": {"out0": wide}}).encode()
    buffers[0][3] = 7

    def reference(x):
        if arrays.where == "reference":
            raise arrays.error
        return x + 1

    judge.problem.reference = reference
    memory = [type("OutOfMemoryError", (RuntimeError,), {})("no more"), RuntimeError("CUDA error: out of memory"),
              RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")]
    other = ValueError("not a number")
    judge.evaluate(request)
    assert (judge.library.told, arrays.calls, buffers[1][3]) == (problem.DONE, ["settle"], 8)
    gc.disable()
    for where in ("read", "reference", "widen", "write", "settle"):
        for error in memory + [other]:
            arrays.where, arrays.error, arrays.calls[:], arrays.made[:] = where, error, [], []
            judge.library.told = None
            judge.evaluate(request)
            error.__traceback__ = None  # it is kept here alone
            is_memory = error is not other
            assert judge.library.told == ("judge_memory" if is_memory else "reference_failed"), (where, error, judge.library.told)
            assert arrays.calls == ["settle", "make_room"][:1 + is_memory], (where, arrays.calls)
            assert [r() for r in arrays.made] == [None], (where, error)
            gc.disable()
    gc.enable()


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
        assert set(asked) == {("|u1", "cuda:0")}
    finally:
        torch.as_tensor = real


def main():
    problem = load_problem()
    check(problem, problem.Numpy(numpy), numpy.arange(6, dtype="float16").reshape(2, 3))
    check_memory(problem)
    if torch:
        check(problem, problem.Torch(torch, "cpu"), torch.arange(6, dtype=torch.float16).reshape(2, 3))
        check_views(problem)


main()
