"""The recorder's Python half: loads a candidate, calls it, and says in its author's terms what went wrong.

Started as `python -I boot.py LIBRARY DEVICE_MODULE` in the record jail, with LIBRARY preloaded.  bridge.c is the other half.
A device's module has

    start()                                  imports what candidates will want; an ImportError says what is missing
    buffer(address, dtype, shape, writable)  what a candidate gets for a buffer
    stream(address)                          and for the stream
    deliver(buffer, returned)                NotImplemented, or how something that was returned becomes an output
"""

import ctypes
import importlib.util
import inspect
import json
import os
import sys
import traceback

FOLDER = os.path.join(os.environ.get("TMPDIR", "/tmp"), "candidate")
MAIN_FILES = ("candidate.py", "submission.py", "main.py")
SINGLE_FILE = "candidate.py"
MODULE = "candidate"
MAX_FRAMES = 20
MAX_MESSAGE = 700
STREAM_NAMES = ("stream", "queue")

# Kept here, since a candidate may put other things in their places.
parse, signature_of = json.loads, inspect.signature


class Side(ctypes.Structure):
    _fields_ = [
        ("start", ctypes.CFUNCTYPE(ctypes.c_int)),
        ("load", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)),
        ("prepare", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)),
    ]


class Failure(Exception):
    """What kgrade_python_fail is told."""

    def __init__(self, code, message, hint):
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


def own_frames(error):
    """The candidate's own lines of a traceback, innermost last."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f for f in frames if f.filename.startswith(FOLDER)]


def show(frame):
    return f'  File "{os.path.relpath(frame.filename, FOLDER)}", line {frame.lineno}, in {frame.name}\n    {frame.line or ""}'


def words(error):
    """What the error is called and says, and where in the candidate it happened."""
    text = " ".join(str(error).split()) if not isinstance(error, SyntaxError) else str(error.msg)
    text = type(error).__name__ + (": " + text if text else "")
    if len(text) > MAX_MESSAGE:
        text = text[:MAX_MESSAGE] + " ..."
    if isinstance(error, SyntaxError) and error.filename and error.filename.startswith(FOLDER):
        return f"{text} ({os.path.relpath(error.filename, FOLDER)}, line {error.lineno})"
    frames = own_frames(error)
    if frames:
        last = frames[-1]
        text += f" ({os.path.relpath(last.filename, FOLDER)}, line {last.lineno}, in {last.name})"
    return text


def print_traceback(error):
    frames = own_frames(error)
    cut = len(frames) - MAX_FRAMES
    lines = ["Traceback (the candidate's own frames):"]
    if cut > 0:
        lines.append(f"  [{cut} more]")
    lines += [show(f) for f in frames[-MAX_FRAMES:]]
    lines.append(words(error))
    print("\n".join(lines), file=sys.stderr, flush=True)


class Recorder:
    def __init__(self, library, device):
        self.library, self.device = library, device
        self.task = self.function = self.arguments = None
        self.outputs, self.returns = [], False

    def fail(self, failure):
        self.library.kgrade_python_fail(failure.code.encode(), failure.message.encode(errors="replace"), failure.hint.encode())
        return -1

    def attempt(self, work, *arguments):
        """0, or -1 with the failure told."""
        try:
            work(*arguments)
            return 0
        except Failure as failure:
            return self.fail(failure)
        except BaseException as error:
            return self.fail(Failure("python_exception", f"The candidate could not be called: {words(error)}",
                                     "Leave the interpreter's modules as they are."))

    # --- what bridge.c calls ---

    def start(self):
        try:
            self.device.start()
            return 0
        except Exception as error:
            return self.fail(Failure("python_unfit", f"{sys.executable} cannot serve this device: {words(error)}",
                                     "Install what is missing for that interpreter; `kgrade doctor` shows what each one has."))

    def load(self, task, source, size):
        return self.attempt(self.load_candidate, task, source, size)

    def prepare(self, text):
        return self.attempt(self.bind, text)

    def call(self):
        try:
            result = self.function(*self.arguments)
            if self.returns:
                self.deliver(result)
        except Failure as failure:
            self.fail(failure)
        except BaseException as error:
            print_traceback(error)
            self.fail(Failure("python_exception", f"The call raised {words(error)}",
                              "The log has the traceback. Cases have awkward shapes: sizes of 1, primes, odd tails."))

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
        path = os.path.join(FOLDER, self.write_files(source))
        sys.path.insert(0, FOLDER)
        spec = importlib.util.spec_from_file_location(MODULE, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[MODULE] = module
        try:
            spec.loader.exec_module(module)
        except SyntaxError as error:
            raise Failure("python_syntax_error", f"The candidate is not Python: {words(error)}", "Mend the line shown.")
        except BaseException as error:
            print_traceback(error)
            raise Failure("python_import_failed", f"Importing the candidate raised {words(error)}",
                          "The log has the traceback; `kgrade doctor` shows which frameworks the interpreter has.")
        return module

    def find_entry(self, module):
        for name in (self.task["entry"], "solve"):
            function = getattr(module, name, None)
            if callable(function):
                return function
        raise Failure("missing_entry", f'The candidate has no function "{self.task["entry"]}".',
                      "Define it at the top of the module, with the task's parameters in their order.")

    # --- calling ---

    def by_name(self, signature):
        """The parameters that the function names, where it names nothing else; None: it has names of its own."""
        index = {p["name"]: i for i, p in enumerate(self.task["parameters"])}
        for i, p in enumerate(self.task["parameters"]):
            if p["kind"] == "stream":
                index.update((name, i) for name in STREAM_NAMES if name not in index)
        chosen = []
        for parameter in signature.parameters.values():
            if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                return None
            if parameter.name not in index:
                return chosen or None if parameter.default is not parameter.empty else None
            chosen.append(index[parameter.name])
        return chosen or None

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
        """Which parameters the candidate's function takes."""
        try:
            signature = signature_of(self.function)
        except (TypeError, ValueError):
            return next(self.ways())
        named = self.by_name(signature)
        if named and self.is_complete(named):
            return named
        for way in self.ways():
            try:
                signature.bind(*way)
                return way
            except TypeError:
                continue
        names = ", ".join(p["name"] for p in self.task["parameters"])
        raise Failure("wrong_parameters", f"{self.function.__name__}{signature} does not fit the task's parameters ({names}).",
                      "Take all of them, by these names or in this order; the stream may be left out, or the outputs, which are then returned.")

    def is_complete(self, chosen):
        """Whether all inputs are there, and all outputs or none."""
        kinds = [p["kind"] for p in self.task["parameters"]]
        outputs = [i for i, kind in enumerate(kinds) if kind == "out"]
        taken = sum(i in chosen for i in outputs)
        return taken in (0, len(outputs)) and all(i in chosen for i, kind in enumerate(kinds) if kind in ("in", "inout"))

    def bind(self, text):
        given = parse(text)
        chosen = self.choose()
        values = []
        for parameter, argument in zip(self.task["parameters"], given):
            if parameter["kind"] == "stream":
                values.append(self.device.stream(argument["address"]))
            elif "address" in argument:
                values.append(self.device.buffer(argument["address"], parameter["dtype"], argument["shape"],
                                                 parameter["kind"] != "in"))
            else:
                values.append(argument["value"])
        self.arguments = [values[i] for i in chosen]
        self.outputs = [values[i] for i, p in enumerate(self.task["parameters"]) if p["kind"] == "out"]
        self.returns = bool(self.outputs) and not any(self.task["parameters"][i]["kind"] == "out" for i in chosen)

    def deliver(self, result):
        returned = list(result) if isinstance(result, (tuple, list)) else [result]
        if len(returned) != len(self.outputs):
            raise Failure("python_exception", f"The call returned {len(returned)} values; the task has {len(self.outputs)} outputs.",
                          "Return the outputs in the task's order, or take them as parameters and write into them.")
        for output, value in zip(self.outputs, returned):
            if self.device.deliver(output, value) is NotImplemented:
                raise Failure("python_exception", f"The call returned {type(value).__name__}, which is no output on this device.",
                              "Take the outputs as parameters and write into them.")


def import_device(path):
    spec = importlib.util.spec_from_file_location("kgrade_device", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    # Compilers and whatever else the candidate starts are no recorders.
    os.environ.pop("LD_PRELOAD", None)
    library = ctypes.PyDLL(sys.argv[1])
    library.kgrade_python_fail.argtypes = [ctypes.c_char_p] * 3
    library.kgrade_python_main.argtypes = [ctypes.POINTER(Side), ctypes.py_object]
    recorder = Recorder(library, import_device(sys.argv[2]))
    types = dict(Side._fields_)
    side = Side(**{name: types[name](getattr(recorder, name)) for name in types})
    sys.exit(library.kgrade_python_main(ctypes.byref(side), recorder.call))


main()
