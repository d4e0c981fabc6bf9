"""The recorder's Python half: loads a candidate, calls it, and says in its author's terms what went wrong.

Started as `python -I boot.py LIBRARY DEVICE_MODULE` in the record jail, with LIBRARY preloaded.  bridge.c is the other half.
A device's module has

    start()                                  imports what candidates will want; an ImportError says what is missing
    settle()                                 before the arguments of a case are made
    buffer(address, dtype, shape)            what a candidate gets for a buffer
    stream(address)                          and for the stream
    deliver(buffer, returned)                makes something that was returned an output; a text says why it is none
    array(address, dtype, shape, stream)     what a candidate of a foreign task gets for a buffer
    permute(array, order)                    a view of it with the axes in that order
    place(model)                             a model where its inputs are
    HINTS                                    what to do about errors whose texts have these words
    REFUSALS                                 which refusals they are: code and what to do, by words in their texts
"""

import ctypes
import importlib.util
import inspect
import json
import operator
import os
import random
import signal
import struct
import sys
import traceback

HOME = os.environ.get("HOME", "/tmp")
CACHES = [os.path.join(HOME, *parts) for parts in ((".triton", "cache"), (".cache", "torch_extensions"))]
FOLDER = os.path.join(os.environ.get("TMPDIR", "/tmp"), "candidate")
MAIN_FILES = ("candidate.py", "submission.py", "main.py")
SINGLE_FILE = "candidate.py"
MODULE = "candidate"
PACKED = "<IIq"  # before each file of a rehearsal
MAX_FRAMES = 20
MAX_CAUSES = 5  # of an exception, and exceptions of a group
MAX_LINE = 200  # bytes, as below
MAX_WORDS = 700
MAX_MESSAGE = 1000  # what a kgrade_error holds
STREAM_NAMES = ("stream", "queue")
CALL_HINT = "The log has the traceback. Cases have awkward shapes: sizes of 1, primes, odd tails."
IMPORT_HINT = "The log has the traceback; `kgrade doctor` shows which frameworks the interpreter has."

# Kept here, since a candidate may put other things in their places.
parse, signature_of, write = json.loads, inspect.signature, os.write


class Side(ctypes.Structure):
    _fields_ = [
        ("start", ctypes.CFUNCTYPE(ctypes.c_int)),
        ("load", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)),
        ("prepare", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)),
        ("seed", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)),
    ]


class Failure(Exception):
    """What kgrade_python_fail is told."""

    def __init__(self, code, message, hint):
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


def shorten(text, limit):
    """At most so many bytes of UTF-8, all in one line and printable."""
    cut = text[:limit]
    line = "".join(c if c.isprintable() else "?" for c in " ".join(cut.split())).encode()
    return line[:limit].decode(errors="ignore") + (" ..." if len(line) > limit or len(text) > limit else "")


def said(speak):
    """What code of the candidate's has to say, which may do anything instead."""
    try:
        return shorten(speak(), MAX_WORDS)
    except BaseException:
        return "(it does not say)"


def name_of(function):
    return said(lambda: getattr(function, "__name__", type(function).__name__))


def own_frames(error):
    """The candidate's own lines of a traceback, innermost last."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f for f in frames if f.filename.startswith(FOLDER)]


def place(filename, line):
    return f"{os.path.relpath(filename, FOLDER)}, line {line}"


def show(frame):
    where = f'File "{os.path.relpath(frame.filename, FOLDER)}", line {frame.lineno}, in {frame.name}'
    return ["  " + shorten(where, MAX_LINE), "    " + shorten(frame.line or "", MAX_LINE)]


def words(error):
    """What the error is called and says, and where in the candidate it happened."""
    of_syntax = isinstance(error, SyntaxError)
    text = said(lambda: str(error.msg if of_syntax else error))
    text = said(lambda: type(error).__name__) + (": " + text if text else "")
    if of_syntax and error.filename and error.filename.startswith(FOLDER):
        return f"{text} ({place(error.filename, error.lineno)})"
    for last in own_frames(error)[-1:]:
        text += f" ({place(last.filename, last.lineno)}, in {shorten(last.name, MAX_LINE)})"
    return text


def causes(error):
    """Those that it came from, the first one first, and the error itself."""
    found = []
    while error is not None and len(found) < MAX_CAUSES and not any(error is e for e in found):
        found.append(error)
        error = error.__cause__ if error.__suppress_context__ or error.__cause__ is not None else error.__context__
    return found[::-1]


def traceback_lines(error):
    lines = []
    for one in causes(error):
        frames = own_frames(one)
        lines.append("This led to another:" if lines else "Traceback (the candidate's own frames):")
        if len(frames) > MAX_FRAMES:
            lines.append(f"  [{len(frames) - MAX_FRAMES} more]")
        for frame in frames[-MAX_FRAMES:]:
            lines += show(frame)
        lines.append(words(one))
    group = getattr(error, "exceptions", ())
    return lines + ["  " + words(one) for one in group[:MAX_CAUSES]]


def print_traceback(error):
    try:
        write(2, ("\n".join(traceback_lines(error)) + "\n").encode())
    except BaseException:
        pass  # the message goes without it


def build(structure, leaf):
    """The data of a call of a foreign task, as task.json describes it; leaf(name[, order]) gives the array of a buffer."""
    if "buffer" in structure:
        return leaf(structure["buffer"], structure["order"]) if "order" in structure else leaf(structure["buffer"])
    if "value" in structure:
        return structure["value"]
    if "dict" in structure:
        return {key: build(value, leaf) for key, value in structure["dict"].items()}
    return [build(value, leaf) for value in structure["list"]] if "list" in structure else tuple(build(v, leaf) for v in structure["tuple"])


def plant(packed):
    """The files of caches, with what comes before each: the lengths of name and contents, and when it was changed."""
    at, head = 0, struct.calcsize(PACKED)
    while at + head <= len(packed):
        name_bytes, size, changed_ns = struct.unpack_from(PACKED, packed, at)
        name, at = packed[at + head:at + head + name_bytes].decode(), at + head + name_bytes
        path = os.path.normpath(os.path.join(HOME, name))
        if not any(path.startswith(cache + os.sep) for cache in CACHES):
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(packed[at:at + size])
        os.utime(path, ns=(changed_ns, changed_ns))  # ninja goes by that
        at += size


def runs_later(function):
    return inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


class Recorder:
    def __init__(self, library, device):
        self.library, self.device = library, device
        self.task = self.function = self.called = None
        self.arguments, self.keywords = [], {}
        self.outputs, self.returns = [], False
        self.shapes = []  # of a foreign task's outputs, as its reference returns them; None: as they are passed
        self.model = None  # of a foreign task that is one

    def fail(self, failure):
        message = shorten(failure.message, MAX_MESSAGE)
        self.library.kgrade_python_fail(failure.code.encode(), message.encode(), failure.hint.encode())
        return 0

    def hint(self, message, default):
        return next((hint for part, hint in self.device.HINTS.items() if part in message), default)

    def attempt(self, work, *arguments):
        """1, or 0 with the failure told."""
        try:
            work(*arguments)
            return 1
        except Failure as failure:
            return self.fail(failure)
        except BaseException as error:
            return self.fail(Failure("python_exception", f"The candidate could not be called: {words(error)}",
                                     "Leave the interpreter's modules as they are."))

    # --- what bridge.c calls ---

    def start(self):
        try:
            self.device.start()
            return 1
        except BaseException as error:
            return self.fail(Failure("python_unfit", f"{sys.executable} cannot serve this device: {words(error)}",
                                     "Install what is missing for that interpreter; `kgrade doctor` shows what each one has."))

    def load(self, task, source, size):
        return self.attempt(self.load_candidate, task, source, size)

    def seed(self, files, size):
        """Unpacks what a rehearsal left; what cannot be unpacked is compiled again."""
        try:
            plant(ctypes.string_at(files, size))
        except Exception:
            pass
        return 1

    def prepare(self, text):
        return self.attempt(self.bind, text)

    def call(self):
        try:
            result = self.called(*self.arguments, **self.keywords)
            if self.returns:
                self.deliver(result)
        except Failure as failure:
            self.fail(failure)
        except BaseException as error:
            print_traceback(error)
            message = words(error)
            refusals = (refusal for part, refusal in self.device.REFUSALS.items() if part in message)
            code, hint = next(refusals, ("python_exception", self.hint(message, CALL_HINT)))
            self.fail(Failure(code, f"The call raised {message}", hint))

    # --- loading ---

    def load_candidate(self, task, source, size):
        self.task = parse(task)
        self.function = self.find_entry(self.import_candidate(ctypes.string_at(source, size).decode()))

    def write_files(self, source):
        files = parse(source)["files"] if source.startswith('{"files":') else {SINGLE_FILE: source}
        os.makedirs(FOLDER)
        for name, text in files.items():
            with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as file:
                file.write(text)
        modules = [name for name in files if name.endswith(".py")]
        for name in MAIN_FILES:
            if name in modules:
                return name
        if len(modules) == 1:
            return modules[0]
        raise Failure("missing_entry", f"None of the files is called {SINGLE_FILE}.",
                      f"Call the file with the entry point {SINGLE_FILE}; it may import the others.")

    def import_candidate(self, source):
        name = self.write_files(source)
        path = os.path.join(FOLDER, name)
        sys.path.insert(0, FOLDER)
        spec = importlib.util.spec_from_file_location(MODULE, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[MODULE] = module
        sys.modules.setdefault(name[:-len(".py")], module)  # its other files may import it
        try:
            spec.loader.exec_module(module)
        except SyntaxError as error:
            raise Failure("python_syntax_error", f"The candidate is not Python: {words(error)}", "Mend the line shown.")
        except BaseException as error:
            print_traceback(error)
            message = words(error)
            raise Failure("python_import_failed", f"Importing the candidate raised {message}", self.hint(message, IMPORT_HINT))
        return module

    def find_entry(self, module):
        if self.form() == "model" and isinstance(getattr(module, self.task["entry"], None), type):
            return getattr(module, self.task["entry"])
        for name in (self.task["entry"], "solve"):
            function = getattr(module, name, None)
            if runs_later(function):
                raise Failure("missing_entry", f'"{name}" is a generator or a coroutine: a call of it runs nothing.',
                              "Make it a plain function, without yield and async, that queues its work and returns.")
            if callable(function):
                return function
        if self.form() == "model":
            raise Failure("missing_entry", f'The candidate has no class "{self.task["entry"]}".',
                          "Define it at the top of the module; it is constructed and called as the task's model is.")
        raise Failure("missing_entry", f'The candidate has no function "{self.task["entry"]}".',
                      "Define it at the top of the module, with the task's parameters in their order.")

    # --- calling ---

    def by_name(self, signature):
        """The parameters that the function names: by position, and by keyword; None: it has names of its own."""
        everything = self.task["parameters"]
        index = {p["name"]: i for i, p in enumerate(everything)}
        for i, p in enumerate(everything):
            if p["kind"] == "stream":
                index.update((name, i) for name in STREAM_NAMES if name not in index)
        positions, keywords, skipped, takes_more = [], {}, False, False
        for parameter in signature.parameters.values():
            i = index.get(parameter.name)
            if parameter.kind is parameter.VAR_POSITIONAL:
                takes_more = not skipped
            elif parameter.kind is parameter.VAR_KEYWORD:
                continue
            elif i is None:
                if parameter.default is parameter.empty:
                    return None
                skipped = True
            elif parameter.kind is parameter.KEYWORD_ONLY or (skipped and parameter.kind is not parameter.POSITIONAL_ONLY):
                keywords[parameter.name] = i
            elif not skipped:
                positions.append(i)
        # One that takes as many as there are takes what it does not name in their order.
        return None if takes_more and len(positions) + len(keywords) < len(everything) else (positions, keywords)

    def ways(self):
        """The parameters that an entry may take, most of them first: with the stream or without, with the outputs or without."""
        everything = range(len(self.task["parameters"]))
        kinds = [p["kind"] for p in self.task["parameters"]]
        yield [i for i in everything]
        yield [i for i in everything if kinds[i] != "stream"]
        yield [i for i in everything if kinds[i] != "out"]
        yield [i for i in everything if kinds[i] not in ("out", "stream")]
        yield [i for i in everything if kinds[i] in ("in", "inout")]

    def choose(self):
        """Which parameters the candidate's function takes: by position, and by keyword."""
        try:
            signature = signature_of(self.function)
        except (TypeError, ValueError):
            return next(self.ways()), {}
        named = self.by_name(signature)
        if named and self.is_complete([*named[0], *named[1].values()]):
            return named
        for way in self.ways():
            try:
                signature.bind(*way)
                return way, {}
            except TypeError:
                continue
        names = ", ".join(p["name"] for p in self.task["parameters"])
        taken = said(lambda: str(signature))
        raise Failure("wrong_parameters", f"{name_of(self.function)}{taken} does not fit the task's parameters ({names}).",
                      "Take all of them, by these names or in this order; the stream may be left out, or the outputs, which are then returned.")

    def is_complete(self, chosen):
        """Whether all inputs are there, and all outputs or none."""
        kinds = [p["kind"] for p in self.task["parameters"]]
        outputs = [i for i, kind in enumerate(kinds) if kind == "out"]
        taken = sum(i in chosen for i in outputs)
        return taken in (0, len(outputs)) and all(i in chosen for i, kind in enumerate(kinds) if kind in ("in", "inout"))

    # --- foreign tasks ---

    def form(self):
        return (self.task.get("foreign") or {}).get("form")

    def construct(self, init):
        """The model, once; its random numbers are those that the task's own has."""
        seed = self.task["foreign"]["seed"]
        random.seed(seed)
        for name, function in (("numpy", "random.seed"), ("torch", "manual_seed")):
            if name in sys.modules:
                operator.attrgetter(function)(sys.modules[name])(seed)
        try:
            return self.device.place(self.function(*build(init, None)))
        except BaseException as error:
            print_traceback(error)
            message = words(error)
            raise Failure("python_exception", f"Constructing {name_of(self.function)} raised {message}", self.hint(message, CALL_HINT))

    def bind_foreign(self, given):
        by_name = {p["name"]: (p, argument) for p, argument in zip(self.task["parameters"], given)}
        address = next((a["address"] for p, a in by_name.values() if p["kind"] == "stream"), 0)
        made = {}

        def leaf(name, order=None):
            parameter, argument = by_name[name]
            if name not in made:
                made[name] = self.device.array(argument["address"], parameter["dtype"], argument["shape"], address)
            return self.device.permute(made[name], order) if order else made[name]

        variant = self.task["foreign"]["variants"][by_name["variant"][1]["value"]]
        data = build(variant["data"], leaf)
        if self.form() == "model" and self.model is None:
            self.model = self.construct(variant["init"]) if isinstance(self.function, type) else self.function
        self.called = self.function if self.model is None else self.model
        if "torch" in sys.modules:
            sys.modules["torch"].set_grad_enabled(False)
        self.arguments = [data] if self.form() == "data" else list(data) if isinstance(data, tuple) else [data]
        outputs = build(variant["outputs"], leaf)
        self.outputs = list(outputs) if isinstance(outputs, tuple) else [outputs]
        self.shapes = [one.get("shape") for one in variant["outputs"].get("tuple", [variant["outputs"]])]
        self.returns = True

    def bind(self, text):
        given = parse(text)
        self.device.settle()
        if self.form():
            self.bind_foreign(given)
            return
        self.called = self.function
        positions, keywords = self.choose()
        values = []
        for parameter, argument in zip(self.task["parameters"], given):
            if parameter["kind"] == "stream":
                values.append(self.device.stream(argument["address"]))
            elif "address" in argument:
                values.append(self.device.buffer(argument["address"], parameter["dtype"], argument["shape"]))
            else:
                values.append(argument["value"])
        self.arguments = [values[i] for i in positions]
        self.keywords = {name: values[i] for name, i in keywords.items()}
        outputs = [i for i, p in enumerate(self.task["parameters"]) if p["kind"] == "out"]
        self.outputs = [values[i] for i in outputs]
        self.returns = bool(outputs) and not any(i in outputs for i in (*positions, *keywords.values()))

    def deliver(self, result):
        returned = list(result) if isinstance(result, (tuple, list)) else [result]
        if len(returned) != len(self.outputs):
            raise Failure("python_exception", f"The call returned {len(returned)} values; the task has {len(self.outputs)} outputs.",
                          "Return the outputs in the task's order, or take them as parameters and write into them.")
        for i, (output, value) in enumerate(zip(self.outputs, returned)):
            if value is output:
                continue
            # A problem's reference may return what it passes in another shape, and the problem's own check wants that.
            if self.shapes and self.shapes[i] is not None and list(getattr(value, "shape", [None])) == self.shapes[i]:
                output = output.reshape(self.shapes[i])
            why = self.device.deliver(output, value)
            if why:
                raise Failure("python_exception", f"The call returned {name_of(type(value))}: {why}.",
                              "Take the outputs as parameters and write into them.")


def import_device(path):
    spec = importlib.util.spec_from_file_location("kgrade_device", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    # Compilers and whatever else the candidate starts are no recorders.
    os.environ.pop("LD_PRELOAD", None)
    # Who writes too much ends as any other program would.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    library = ctypes.PyDLL(sys.argv[1])
    library.kgrade_python_fail.argtypes = [ctypes.c_char_p] * 3
    library.kgrade_python_main.argtypes = [ctypes.POINTER(Side), ctypes.py_object]
    recorder = Recorder(library, import_device(sys.argv[2]))
    types = dict(Side._fields_)
    side = Side(**{name: types[name](getattr(recorder, name)) for name in types})
    sys.exit(library.kgrade_python_main(ctypes.byref(side), recorder.call))


if __name__ == "__main__":  # processes that multiprocessing starts run this file, too
    main()
