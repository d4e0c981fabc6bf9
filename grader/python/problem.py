"""The judge's Python half: a foreign task's own generator of inputs, reference and check, at work.

Started as `python -I problem.py LIBRARY DESCRIBING DEVICE` in a jail of its own, with LIBRARY preloaded; judge_bridge.c is the
other half, and DESCRIBING the file that makes a task of a problem.  No candidate's code ever runs here.  What the task's
Python is asked for:

    inputs(**values, seed=SEED)    or without the seed, if it takes none; the generators of random, NumPy and PyTorch are
                                   seeded before in either case
    reference(data)                "data"; reference(*inputs): "arguments"; reference(*init)(*inputs): "model"
    check(data, output)            what decides in place of the tolerance, if the task names one
"""

import copy
import ctypes
import gc
import importlib.util
import inspect
import json
import math
import os
import random
import signal
import sys
import traceback

FOLDER = os.path.join(os.environ.get("TMPDIR", "/tmp"), "problem")
DEFAULT_SEED = 42
AHEAD = {"cuda": ["torch"]}  # what tasks import: where judges wait for one, they can have done that already
LARGEST_SEED = 2**31 - 1  # of those that every generator takes
MAX_MESSAGE = 1000
MAX_DEPTH = 8
MAX_LEAVES = 16
DONE, CHECK_RIGHT, CHECK_WRONG, CHECK_NONE = 1, 2, 3, 4
TORCH_TYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3",
               "float8_e5m2": "f8e5m2", "int8": "i8", "uint8": "u8", "int32": "i32", "int64": "i64", "bool": "bool"}
NUMPY_TYPES = {name: kind for name, kind in TORCH_TYPES.items() if name != "bfloat16" and not name.startswith("float8")}
ARENA_DEVICE = "cuda:0"  # whichever one a task has made the current one
FLOATS = {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2"}
SAME_BYTES = 1 << 28  # that are compared at a time: PyTorch makes an array as large of it
NEAR_ELEMENTS = 1 << 24  # that are compared at a time: differences in double precision take several times the arrays' memory
SIZES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "f8e4m3": 1, "f8e5m2": 1, "i8": 1, "u8": 1, "i32": 4, "i64": 8, "bool": 1}


class Side(ctypes.Structure):
    _fields_ = [
        ("describe", ctypes.CFUNCTYPE(None, ctypes.c_char_p)),
        ("load", ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p)),
        ("inputs", ctypes.CFUNCTYPE(None, ctypes.c_char_p)),
        ("evaluate", ctypes.CFUNCTYPE(None, ctypes.c_char_p)),
        ("check", ctypes.CFUNCTYPE(None, ctypes.c_char_p)),
    ]


class Failure(Exception):
    def __init__(self, code, message, hint):
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


def unsupported(message, hint="kgrade passes tensors, arrays, numbers, texts without zero bytes, None, tuples, lists and dicts."):
    return Failure("inputs_unsupported", message, hint)


# --- arrays, of PyTorch and of NumPy ---


class View:
    """Memory of the device, as PyTorch can take it."""

    def __init__(self, address, size):
        self.__cuda_array_interface__ = {"version": 3, "data": (address, False), "shape": (size,), "typestr": "|u1"}


class Place:
    """Where a buffer lies: in the host's memory or in the device's, which the library reaches where PyTorch does not."""

    def __init__(self, library, address, on_device=False):
        self.library, self.address, self.on_device = library, address, on_device

    def store(self, source, size):
        if not self.on_device:
            ctypes.memmove(self.address, source, size)
        elif self.library.kgrade_python_store(self.address, source, size):
            raise Failure("device_failed", "The device's memory could not be written.", "Run `kgrade doctor`.")

    def fetch(self, to, size):
        if not self.on_device:
            ctypes.memmove(to, self.address, size)
        elif self.library.kgrade_python_fetch(self.address, size, to):
            raise Failure("device_failed", "The device's memory could not be read.", "Run `kgrade doctor`.")


class Torch:
    def __init__(self, torch, device):
        self.torch = torch
        self.device = device if device == "cuda" and torch.cuda.is_available() else "cpu"
        self.kinds = {getattr(torch, name): kind for name, kind in TORCH_TYPES.items() if hasattr(torch, name)}
        self.types = {kind: dtype for dtype, kind in self.kinds.items()}

    def owns(self, value):
        return isinstance(value, self.torch.Tensor)

    def kind(self, tensor):
        return None if tensor.is_sparse or tensor.is_quantized else self.kinds.get(tensor.dtype)

    def strides(self, tensor):
        return tuple(tensor.stride())

    def place(self, tensor):
        return tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride())

    def permute(self, tensor, order):
        return tensor.permute(order)

    def fresh(self, tensor):
        return tensor.detach().clone()

    def placed(self, tensor):
        """A copy where the reference works."""
        there = tensor.detach().to(self.device)
        return self.fresh(there) if there.data_ptr() == tensor.data_ptr() else there

    def at(self, place, kind, n):
        """The memory itself: arrays of gigabytes are not copied on the way to a card."""
        size = n * SIZES[kind]
        if place.on_device:
            return self.torch.as_tensor(View(place.address, size), device=ARENA_DEVICE).view(self.types[kind])
        return self.torch.frombuffer((ctypes.c_char * size).from_address(place.address), dtype=self.types[kind])

    def reaches(self, place):
        return not place.on_device or self.device == "cuda"

    def write(self, tensor, place):
        flat = tensor.detach().contiguous().reshape(-1)
        if not flat.numel():
            return
        if self.reaches(place):
            self.at(place, self.kind(tensor), flat.numel()).copy_(flat)
        else:
            place.store(flat.data_ptr(), flat.numel() * flat.element_size())

    def read(self, place, kind, shape, wanted):
        n = math.prod(shape)
        if n and self.reaches(place):
            view = self.at(place, kind, n).reshape(shape)
            there = view.to(self.device)  # before it is widened: the host would do that slowly, and send twice the bytes
            return there.to(self.types[wanted], copy=there is view)
        tensor = self.torch.empty(shape, dtype=self.types[kind], device=self.device)
        if n:
            place.fetch(tensor.data_ptr(), n * SIZES[kind])
        return tensor.to(self.types[wanted])

    def zeros(self, kind, shape):
        return self.torch.zeros(shape, dtype=self.types[kind], device=self.device)

    def settle(self):
        """What was queued has ended: others look at it next."""
        if self.device == "cuda" and self.torch.cuda.is_initialized():
            self.torch.cuda.synchronize()

    def make_room(self):
        """What is kept of freed memory is for others from now on."""
        if self.device == "cuda" and self.torch.cuda.is_initialized():
            self.torch.cuda.empty_cache()

    def widen(self, tensor, is_float):
        return tensor.detach().to(self.torch.float64 if is_float else self.torch.int64)

    def double(self, tensor):
        return tensor.to(self.torch.float64) if self.kind(tensor) in FLOATS else tensor

    def spoil(self, tensor):
        tensor.fill_(self.kind(tensor) == "bool" or 3)

    def same(self, a, b):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        parts = (self.bits(x).split(SAME_BYTES) for x in (a, b.to(a.device)))
        return all(self.torch.equal(x, y) for x, y in zip(*parts))

    def bits(self, tensor):
        flat = tensor.detach().contiguous().reshape(-1)
        return flat.view(self.torch.uint8) if flat.numel() else flat

    def near(self, a, b, tolerance):
        if a.shape != b.shape:
            return False
        parts = (x.detach().reshape(-1).split(NEAR_ELEMENTS) for x in (a, b.to(a.device)))
        return all(self.is_near(x, y, tolerance) for x, y in zip(*parts))

    def is_near(self, a, b, tolerance):
        a, b = (self.widen(x, self.kind(x) in FLOATS) for x in (a, b))
        bound = tolerance["absolute"] + tolerance["relative"] * b.abs()
        return bool(((a == b) | ((a - b).abs() <= bound) | (a.isnan() & b.isnan())).all())


class Numpy:
    def __init__(self, numpy):
        self.numpy = numpy

    def owns(self, value):
        return isinstance(value, self.numpy.ndarray)

    def kind(self, array):
        return NUMPY_TYPES.get(array.dtype.name) if array.dtype.isnative else None

    def strides(self, array):
        return tuple(s // array.itemsize for s in array.strides)

    def place(self, array):
        return array.ctypes.data, array.shape, array.strides

    def permute(self, array, order):
        return array.transpose(order)

    def fresh(self, array):
        return array.copy(order="K")

    def placed(self, array):
        return self.fresh(array)

    def write(self, array, place):
        flat = self.numpy.ascontiguousarray(array)
        place.store(flat.ctypes.data, flat.nbytes)

    def read(self, place, kind, shape, wanted):
        array = self.numpy.empty(shape, dtype=self.name(kind))
        place.fetch(array.ctypes.data, array.nbytes)
        return array.astype(self.name(wanted), copy=False)

    def zeros(self, kind, shape):
        return self.numpy.zeros(shape, dtype=self.name(kind))

    def name(self, kind):
        return next(name for name, known in NUMPY_TYPES.items() if known == kind)

    def settle(self):
        pass

    def make_room(self):
        pass

    def widen(self, array, is_float):
        return array.astype("float64" if is_float else "int64")

    def double(self, array):
        return array.astype("float64") if self.kind(array) in FLOATS else array

    def spoil(self, array):
        array.fill(3)

    def same(self, a, b):
        return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()

    def near(self, a, b, tolerance):
        a, b = (self.widen(x, self.kind(x) in FLOATS) for x in (a, b))
        if a.shape != b.shape:
            return False
        with self.numpy.errstate(invalid="ignore"):
            close = abs(a - b) <= tolerance["absolute"] + tolerance["relative"] * abs(b)
        return bool(((a == b) | close | ((a != a) & (b != b))).all())


class Arrays:
    """Of whichever of the two libraries a value is."""

    def __init__(self, device):
        self.device, self.known = device, []

    def look(self):
        """After the task's modules were imported: what they have not, no value can be of."""
        self.known = []
        if "torch" in sys.modules:
            self.known.append(Torch(sys.modules["torch"], self.device))
        if "numpy" in sys.modules:
            self.known.append(Numpy(sys.modules["numpy"]))

    def of(self, value):
        return next((library for library in self.known if library.owns(value)), None)


# --- structures: how arrays and plain values make up the data of a call ---


def dense_order(strides, shape):
    """The axes in the order in which they lie in memory; None: there are gaps, or axes share memory."""
    if 0 in shape:
        return list(range(len(shape)))
    order = sorted(range(len(shape)), key=lambda i: (-strides[i], i))
    expected = 1
    for axis in reversed(order):
        if shape[axis] != 1 and strides[axis] != expected:
            return None
        expected *= shape[axis]
    return order


def is_text(value):
    """That task.json can hold."""
    return isinstance(value, str) and not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value)


class Walker:
    """Takes data apart: a structure as task.json has it, and the arrays in it in their order."""

    def __init__(self, arrays, prefix):
        self.arrays, self.prefix, self.leaves = arrays, prefix, []

    def walk(self, value, depth=0):
        if depth > MAX_DEPTH:
            raise unsupported(f"The data is nested more than {MAX_DEPTH} deep.")
        if self.arrays.of(value):
            return self.array(value)
        if value is None or isinstance(value, bool) or is_text(value):
            return {"value": value}
        if isinstance(value, int) and -2**63 <= value < 2**63 or isinstance(value, float) and math.isfinite(value):
            return {"value": value}
        if type(value) in (list, tuple):
            return {type(value).__name__: [self.walk(v, depth + 1) for v in value]}
        if type(value) is dict and all(is_text(key) for key in value):
            return {"dict": {key: self.walk(v, depth + 1) for key, v in value.items()}}
        raise unsupported(f"A {type(value).__name__} is among the {self.prefix}puts.")

    def array(self, value):
        library = self.arrays.of(value)
        if library.kind(value) is None:
            raise unsupported(f"An array of type {value.dtype} is among the {self.prefix}puts.",
                              f"Known are {', '.join(SIZES)}, dense and of this machine's byte order.")
        place = library.place(value)
        for i, other in enumerate(self.leaves):
            if place[1] == self.arrays.of(other).place(other)[1] and place == self.arrays.of(other).place(other) and value.shape:
                return {"buffer": f"{self.prefix}{i}"}
        if len(self.leaves) == MAX_LEAVES:
            raise unsupported(f"There are more than {MAX_LEAVES} arrays among the {self.prefix}puts.")
        if len(value.shape) > 6:
            raise unsupported("An array has more than 6 axes.")
        structure = {"buffer": f"{self.prefix}{len(self.leaves)}"}
        order = dense_order(library.strides(value), value.shape)
        if order is None:
            raise unsupported("An array is a view with gaps or repetitions.", "Make it contiguous in the generator.")
        if order != list(range(len(order))):
            # The buffer has the axes as they lie in memory, and the candidate's view of it has them in their order.
            structure["order"] = [order.index(axis) for axis in range(len(order))]
            value = library.permute(value, order)
        self.leaves.append(value)
        return structure


def build(structure, leaf):
    """The data of a structure; leaf(name): the array of a buffer; -> data."""
    (kind, value), *_ = ((k, v) for k, v in structure.items() if k != "order")
    if kind == "buffer":
        array, library = leaf(value)
        return library.permute(array, structure["order"]) if "order" in structure else array
    if kind == "value":
        return value
    if kind == "dict":
        return {key: build(v, leaf) for key, v in value.items()}
    return (list if kind == "list" else tuple)(build(v, leaf) for v in value)


def seed_everything(seed):
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def is_right(answer):
    """What a check has said."""
    if isinstance(answer, tuple) and answer:
        answer = answer[0]
    if isinstance(answer, str):
        return answer == ""
    if isinstance(answer, (bool, int)) or getattr(answer, "shape", None) == ():
        return bool(answer)
    raise Failure("reference_failed", f"The task's check returned a {type(answer).__name__}.",
                  "It returns true or false, a tuple that begins with that, or a text that is empty when the output is right.")


def as_outputs(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


# --- the task's Python ---


def words(error):
    """What went wrong, and where in the task's files."""
    try:
        said = str(error)
    except BaseException:
        said = "(it does not say)"
    text = f"{type(error).__name__}: {said}"
    for frame in [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(FOLDER)][-1:]:
        text += f" ({os.path.basename(frame.filename)}, line {frame.lineno}, in {frame.name})"
    return text


def failure_of(what, error, otherwise):
    """Want of memory is the device's fault, whoever was told of it: PyTorch's allocator, or a library that it calls."""
    text = words(error)
    if type(error).__name__ == "OutOfMemoryError" or "out of memory" in text.lower() or "ALLOC_FAILED" in text:
        return Failure("judge_memory", f"The device's memory was too small for the task's {what}: {text}",
                       "Make the task's largest case smaller, or use a card with more memory.")
    return Failure("reference_failed", f"The task's {what} {otherwise} {text}", "Mend the task's Python.")


class Problem:
    def __init__(self, about, files, device, alone=True):
        """about: what task.json or problem.json says of the functions.  alone: no others use the device's memory meanwhile."""
        self.about, self.alone = about, alone
        self.arrays = Arrays(device)
        self.module = self.import_files(files)
        self.arrays.look()
        self.make = self.find(about["inputs"])
        self.reference = self.find(about["reference"])
        self.check = self.find(about["check"]) if about.get("check") else None
        self.model = None
        self.card = self.find_card()
        self.is_placed = False
        try:
            parameters = inspect.signature(self.make).parameters.values()
            self.takes_seed = any(p.name == "seed" or p.kind is p.VAR_KEYWORD for p in parameters)
        except (TypeError, ValueError):
            self.takes_seed = False

    def import_files(self, files):
        os.makedirs(FOLDER, exist_ok=True)
        for name, text in files.items():
            with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as file:
                file.write(text)
        sys.path.insert(0, FOLDER)
        name = self.about["files"][0]
        try:
            spec = importlib.util.spec_from_file_location(name[:-len(".py")], os.path.join(FOLDER, name))
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module
            seed_everything(DEFAULT_SEED)
            spec.loader.exec_module(module)
            return module
        except BaseException as error:
            raise Failure("reference_failed", f"Importing the task's {name} raised {words(error)}",
                          "Name an interpreter that has what the task imports, as `kgrade doctor` shows.")

    def find(self, name):
        function = getattr(self.module, name, None)
        if not callable(function):
            raise Failure("reference_failed", f"The task's {self.about['files'][0]} has no function \"{name}\".",
                          "Name the functions as the file does.")
        return function

    def find_card(self):
        """Where a generator's tensors are to be made that says nothing of it; None: in the host's memory."""
        torch = sys.modules.get("torch")
        if torch and self.arrays.known[0].device == "cuda" and hasattr(torch.device, "__enter__"):
            return torch.device("cuda")
        return None

    def made(self, seed, keywords):
        """What the generator gives.  A card draws gigabytes in milliseconds, and the host in seconds for each sample; a generator that
        does not take that (a generator of random numbers of the host's) is left where it is, from its first call on."""
        seed_everything(seed)
        if not self.card:
            return self.run("generator of inputs", self.make, **keywords)
        try:
            with self.card:
                data = self.make(**keywords)
            self.is_placed = True
            return data
        except BaseException as error:
            failure = failure_of("generator of inputs", error, "raised")
            if self.is_placed or (failure.code == "judge_memory" and not self.alone):
                raise failure
        self.card = None
        return self.made(seed, keywords)

    def run(self, what, function, *arguments, **keywords):
        try:
            return function(*arguments, **keywords)
        except BaseException as error:
            raise failure_of(what, error, "raised")

    def data(self, values, seed):
        seed %= self.about.get("seeds", LARGEST_SEED) + 1
        data = self.made(seed, {**values, "seed": seed} if self.takes_seed else dict(values))
        return tuple(data) if self.about["form"] != "data" and isinstance(data, list) else data

    def init(self):
        if not self.about.get("init"):
            return []
        seed_everything(self.about["seed"])
        return list(self.run("get_init_inputs", self.find(self.about["init"])))

    def answer(self, data, double):
        """The reference's outputs; data is used up."""
        if self.about["form"] == "data":
            return self.run("reference", self.reference, data)
        arguments = data if isinstance(data, tuple) else (data,)
        if self.about["form"] == "arguments":
            return self.run("reference", self.reference, *arguments)
        return self.run("model", self.fresh_model(double), *arguments)

    def fresh_model(self, double):
        """A call may change a model's state: each is made by a copy of the one that was constructed."""
        if self.model is None:
            init = self.init()
            seed_everything(self.about["seed"])
            self.model = self.run("model's construction", self.reference, *init)
        model = copy.deepcopy(self.model)
        torch = sys.modules.get("torch")
        if torch and isinstance(model, torch.nn.Module):
            model = model.to(self.arrays.known[0].device)
            if double:
                model = model.double()
        return model

    def evaluate(self, data, double, seed=DEFAULT_SEED):
        torch = sys.modules.get("torch")
        seed_everything(seed)
        if not torch:
            return self.answer(data, double)
        with torch.no_grad():
            return self.answer(data, double)


# --- what judge_bridge.c calls ---


def outcome(work, *arguments):
    """-> the answer, or None with what went wrong."""
    try:
        return work(*arguments), None
    except Failure as failure:
        told = failure
    except BaseException as error:
        told = failure_of("Python", error, "could not be run:")
    told.__traceback__ = told.__context__ = None  # their frames hold arrays, and one of them holds `told`
    return None, told


class Judge:
    def __init__(self, library, device):
        self.library, self.device = library, device
        self.problem = None
        self.libraries = {}  # whose arrays the task's Python has made: by name

    def attempt(self, work, *arguments):
        answer, told = outcome(work, *arguments)
        _, unsettled = outcome(self.settle)
        told = told or unsettled
        if told is None:
            self.library.kgrade_python_answer(DONE if answer is None else answer)
            return
        if told.code == "judge_memory":
            outcome(self.make_room)
        message = "".join(c if c.isprintable() else " " for c in told.message)[:MAX_MESSAGE]
        self.library.kgrade_python_fail(told.code.encode(), message.encode("utf-8", "replace"), told.hint.encode())

    def settle(self):
        for library in self.problem.arrays.known if self.problem else ():
            library.settle()

    def make_room(self):
        gc.collect()  # a task's own exceptions may hold arrays in a circle, too
        for library in self.problem.arrays.known if self.problem else ():
            library.make_room()

    def describe(self, text):
        self.attempt(self.describe_problem, text)

    def describe_problem(self, text):
        spec = importlib.util.spec_from_file_location("kgrade_describing", sys.argv[2])
        describing = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(describing)
        self.library.kgrade_python_tell(describing.describe(text, self.device).encode())

    def load(self, task, files):
        self.attempt(self.load_problem, task, files)

    def load_problem(self, task, files):
        self.problem = Problem(json.loads(task), json.loads(files)["files"], self.device)

    def inputs(self, text):
        self.attempt(self.write_inputs, json.loads(text))

    def write_inputs(self, request):
        variant = self.problem.about["variants"][request["variant"]]
        walker = Walker(self.problem.arrays, "in")
        structure = walker.walk(self.problem.data(variant["inputs"], request["seed"]))
        if structure != variant["data"]:
            raise unsupported("The generator gives other data than when the task was described.", "Describe the task again.")
        for i, leaf in enumerate(walker.leaves):
            self.libraries[f"in{i}"] = self.problem.arrays.of(leaf)
        for name, buffer in request["inputs"].items():
            self.write(walker.leaves[int(name[2:])], buffer, name)

    def write(self, value, buffer, name, wide=False):
        library = self.problem.arrays.of(value)
        fits = library is not None and library.kind(value) and (math.prod(value.shape) == math.prod(buffer["shape"]) if wide else
                                        list(value.shape) == buffer["shape"] and library.kind(value) == buffer["dtype"])
        if not fits:
            raise unsupported(f"{name} has another shape or type than when the task was described.", "Describe the task again.")
        if wide:
            value = library.widen(value, buffer["dtype"] in FLOATS)
        library.write(value, self.place(buffer))

    def place(self, buffer):
        return Place(self.library, buffer["address"], buffer["on_device"])

    def read(self, name, buffer, wanted=None):
        return self.libraries[name].read(self.place(buffer), buffer["dtype"], buffer["shape"], wanted or buffer["dtype"])

    def rebuild(self, request, double):
        """The data of a call, from the bytes of its inputs; what is only written begins as zeros."""
        variant = self.problem.about["variants"][request["variant"]]
        arrays = {}

        def leaf(name):
            if name not in arrays:
                library, is_given = self.libraries[name], name in request["inputs"]
                buffer = request["inputs" if is_given else "outputs"][name]
                kind = "f64" if double and buffer["dtype"] in FLOATS else buffer["dtype"]
                array = self.read(name, buffer, kind) if is_given else library.zeros(kind, buffer["shape"])
                arrays[name] = array, library
            return arrays[name]

        return build(variant["data"], leaf)

    def evaluate(self, text):
        self.attempt(self.write_outputs, json.loads(text))

    def names_of_outputs(self, request):
        structure = self.problem.about["variants"][request["variant"]]["outputs"]
        return [s["buffer"] for s in structure.get("tuple", [structure])]

    def write_outputs(self, request):
        double = self.problem.about["double"]
        outputs = as_outputs(self.problem.evaluate(self.rebuild(request, double), double))
        names = self.names_of_outputs(request)
        if len(outputs) != len(names):
            raise unsupported("The reference returns another number of outputs than when the task was described.")
        for name, value in zip(names, outputs):
            self.libraries.setdefault(name, self.problem.arrays.of(value))
            self.write(value, request["outputs"][name], name, wide=True)

    def check(self, text):
        self.attempt(self.decide, json.loads(text))

    def decide(self, request):
        if self.problem.check is None:
            return CHECK_NONE
        structure = self.problem.about["variants"][request["variant"]]["outputs"]
        outputs = []
        for one in structure.get("tuple", [structure]):
            array = self.read(one["buffer"], request["outputs"][one["buffer"]])
            outputs.append(array.reshape(one["shape"]) if "shape" in one else array)
        output = tuple(outputs) if "tuple" in structure else outputs[0]
        answer = self.problem.run("check", self.problem.check, self.rebuild(request, False), output)
        return CHECK_RIGHT if is_right(answer) else CHECK_WRONG


def import_ahead(device):
    for name in AHEAD.get(device, ()):
        try:
            importlib.import_module(name)
        except Exception:  # whoever needs it will learn why
            pass


def main():
    os.environ.pop("LD_PRELOAD", None)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # problems ask PyTorch for what can be repeated
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait must not be heard where times are taken
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    library = ctypes.PyDLL(sys.argv[1])
    library.kgrade_python_fail.argtypes = [ctypes.c_char_p] * 3
    library.kgrade_python_fail.restype = library.kgrade_python_tell.restype = library.kgrade_python_answer.restype = None
    library.kgrade_python_tell.argtypes = [ctypes.c_char_p]
    library.kgrade_python_answer.argtypes = [ctypes.c_int]
    library.kgrade_python_store.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64]
    library.kgrade_python_fetch.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p]
    library.kgrade_python_judge_main.argtypes = [ctypes.POINTER(Side)]
    import_ahead(sys.argv[3])
    judge = Judge(library, sys.argv[3])
    types = dict(Side._fields_)
    side = Side(**{name: types[name](getattr(judge, name)) for name in types})
    sys.exit(library.kgrade_python_judge_main(ctypes.byref(side)))


if __name__ == "__main__":  # processes that multiprocessing starts run this file, too
    main()
