"""
A rehearsal: a candidate's calls without a card, so that Triton's kernels and extensions of PyTorch are compiled before the card is taken.

Started as `python -I rehearse.py BOOT` in a jail like a recorder's that has no device in it.  Tensors are PyTorch's fake ones, which have
shapes and no memory, and Triton has a driver that compiles and launches nothing.  What comes of it is the caches of both, from which
recorders compile nothing again.  All of it is only a try: whatever fails here is met, and told, where the candidate is recorded.

One request, framed as all messages are (wire.h): {"op": "rehearse", "target", "task", "cases"} with the candidate as its blob, task and
cases in the words of bridge.c.  The answer's blob holds the files of the caches that are new; boot.py unpacks it.  It has "unbuildable",
with the reason, where an extension does not compile: nothing would come of trying that again.
"""

import contextlib
import importlib.util
import json
import os
import re
import signal
import struct
import sys
import time
import types

SOCKET = 3
ADDRESS = 0x601000000000  # as aligned as all device memory is
STREAM = 2
BUDGET_S, BUILDS_S = 20, 90  # then what is there has to do; the latter with a C++ compiler at work
MAX_BYTES = 64 << 20
LOG_CHARACTERS = 6000  # of the compiler's
BUILD_ERROR = "Error building extension"  # how PyTorch's words begin
# What kernels are chosen by; where it is another number on the card, they are compiled there.
PROCESSORS = {80: 108, 86: 84, 89: 142, 90: 132, 100: 148, 120: 188}
SHARED_BYTES = {80: 166912, 86: 101376, 87: 166912, 89: 101376, 120: 101376}
MOST_SHARED_BYTES = 232448


def load_module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- messages ---

def read(n):
    data = bytearray()
    while len(data) < n:
        piece = os.read(SOCKET, n - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return bytes(data)


def receive():
    length, blob = struct.unpack("<II", read(8))
    return json.loads(read(length)), read(blob)


def send(message, blob):
    text = json.dumps(message).encode()
    data = memoryview(struct.pack("<II", len(text), len(blob)) + text + blob)
    while data:
        data = data[os.write(SOCKET, data):]


# --- a card that is not there ---

class Stream:
    cuda_stream = ptr = STREAM

    def __getattr__(self, name):
        return lambda *_, **__: None


class Event(Stream):
    def __init__(self, *_, **__):
        pass

    def elapsed_time(self, _):
        return 1.0


class Utils:
    """What Triton's driver asks of the card."""

    def __init__(self, arch):
        self.arch = arch

    def load_binary(self, *_):
        return 1, 1, 0, 0, 1024  # module, function, registers, spills, threads

    def get_device_properties(self, _):
        return {"max_shared_mem": SHARED_BYTES.get(self.arch, MOST_SHARED_BYTES), "multiprocessor_count": PROCESSORS.get(self.arch, 132),
                "max_num_regs": 65536, "warpSize": 32, "sm_clock_rate": 1, "mem_clock_rate": 1, "mem_bus_width": 1}

    def __getattr__(self, name):
        return lambda *_, **__: None


class Driver:
    def __init__(self, arch):
        from triton.backends.compiler import GPUTarget
        from triton.backends.nvidia import driver
        self.utils, self.target = Utils(arch), GPUTarget("cuda", arch, 32)
        self.map_python_to_cpp_type = driver.ty_to_cpp
        build = driver.CudaLauncher

        class Launcher:
            def __init__(self, source, metadata):
                with contextlib.suppress(Exception):
                    build(source, metadata)

            def __call__(self, *_, **__):
                pass

        self.launcher_cls = Launcher

    def get_current_target(self):
        return self.target

    def get_current_device(self):
        return 0

    def set_current_device(self, _):
        pass

    def get_current_stream(self, _):
        return STREAM

    def get_active_torch_device(self):
        return torch.device("cuda", 0)

    def get_device_interface(self):
        return torch.cuda

    def get_benchmarker(self):
        def compile_only(call, quantiles=None, **_):
            call()
            return [1.0] * len(quantiles) if quantiles else 1.0
        return compile_only

    def get_empty_cache_for_benchmark(self):
        return torch.empty(1, device="cuda")

    def clear_cache(self, _):
        pass


def pretend(arch):
    """PyTorch says that there is a card."""
    properties = types.SimpleNamespace(name="", major=arch // 10, minor=arch % 10, multi_processor_count=PROCESSORS.get(arch, 132), warp_size=32,
                                       total_memory=64 << 30, max_threads_per_multi_processor=2048, L2_cache_size=50 << 20, regs_per_multiprocessor=65536,
                                       shared_memory_per_block_optin=SHARED_BYTES.get(arch, MOST_SHARED_BYTES), shared_memory_per_block=49152)
    answers = {"is_available": True, "is_initialized": True, "device_count": 1, "current_device": 0, "get_device_capability": (arch // 10, arch % 10),
               "get_device_name": "", "get_device_properties": properties, "current_stream": Stream(), "default_stream": Stream(),
               "is_current_stream_capturing": False, "init": None, "_lazy_init": None, "synchronize": None, "set_device": None, "set_stream": None,
               "empty_cache": None}
    for name, answer in answers.items():
        setattr(torch.cuda, name, lambda *_, answer=answer, **__: answer)
    torch.cuda.device = torch.cuda.stream = torch.cuda.device_of = lambda *_, **__: contextlib.nullcontext()
    torch.cuda.Stream, torch.cuda.Event = lambda *_, **__: Stream(), Event


class Device:
    """As python.py is, of tensors without memory."""
    HINTS, REFUSALS = {}, {}

    def __init__(self, views):
        self.views = views

    def settle(self):
        pass

    def buffer(self, _, dtype, shape):
        return torch.empty(shape, dtype=getattr(torch, self.views[dtype]), device="cuda")

    def array(self, address, dtype, shape, _):
        return self.buffer(address, dtype, shape)

    def stream(self, _):
        return Stream()

    def permute(self, whole, order):
        return whole.permute(order)

    def place(self, model):
        return model.to("cuda") if isinstance(model, torch.nn.Module) else model

    def deliver(self, _, __):
        return None


# --- the rehearsal ---

def start(boot):
    """What takes long, before there is a candidate."""
    global torch, triton
    import torch
    import triton
    import torch._subclasses.fake_tensor as fake
    cuda = load_module("kgrade_device", os.path.join(os.path.dirname(boot), "kgrade-python-cuda.py"))
    fake.init_gpu_context = lambda _: None
    fake.FakeTensor.data_ptr = lambda self: ADDRESS + self.storage_offset() * self.itemsize
    pretend(90)
    triton.runtime.driver.set_active(Driver(90))
    with contextlib.suppress(Exception):
        cuda.start_triton()
    with fake.FakeTensorMode():
        torch.empty(4, device="cuda").add_(1)
    return load_module("kgrade_boot", boot), Device(cuda.VIEWS), fake.FakeTensorMode


def files(caches):
    return {os.path.join(folder, name) for cache in caches for folder, _, names in os.walk(cache) for name in names}


def call(recorder, case):
    recorder.bind(case)
    recorder.called(*recorder.arguments, **recorder.keywords)


def call_all(recorder, cases, end):
    """Each in a process of its own, side by side; those that take too long are ended."""
    at_once, running, waiting = max(1, len(os.sched_getaffinity(0)) // 2), set(), list(cases)[::-1]
    while (running or waiting) and time.monotonic() < end:
        if waiting and len(running) < at_once:
            case, child = waiting.pop(), os.fork()
            if child == 0:
                with contextlib.suppress(BaseException):
                    call(recorder, case)
                os._exit(0)
            running.add(child)
            continue
        ended = os.waitpid(-1, os.WNOHANG)[0]
        running.discard(ended)
        if not ended:
            time.sleep(0.002)
    for child in running:
        os.kill(child, signal.SIGKILL)


def pack(paths, boot):
    packed = bytearray()
    for path in sorted(paths):
        if os.path.basename(path) == "lock":  # of a build that was ended: who finds it waits for ever
            continue
        with contextlib.suppress(OSError), open(path, "rb") as file:
            data, name, changed_ns = file.read(), os.path.relpath(path, boot.HOME).encode(), os.fstat(file.fileno()).st_mtime_ns
            if len(packed) + len(data) <= MAX_BYTES - 4096:
                packed += struct.pack(boot.PACKED, len(name), len(data), changed_ns) + name + data
    return bytes(packed)


def is_of_compiler(error):
    """What fails for want of a card says something else."""
    return type(error) is RuntimeError and bool(error.args) and str(error.args[0]).startswith(BUILD_ERROR)


def tell_compiler(said, boot):
    """Writes what the compiler said to the log, whose end it will be; -> in short."""
    os.write(2, said[-LOG_CHARACTERS:].encode(errors="replace") + b"\n")
    first, lines = said.split(":")[0], said.splitlines()
    error = next((line for line in lines if re.search(r"\berror\b", line)), lines[-1])
    return boot.shorten(f"Importing the candidate raised RuntimeError: {first}: {error}", boot.MAX_MESSAGE)


def rehearse(request, source, boot, device, mode):
    end, before = time.monotonic() + (BUILDS_S if b"cpp_extension" in source else BUDGET_S), files(boot.CACHES)
    arch = int("".join(c for c in request["target"] if c.isdigit()) or 90)
    pretend(arch)
    triton.runtime.driver.set_active(Driver(arch))
    recorder, answer = boot.Recorder(types.SimpleNamespace(kgrade_python_fail=lambda *_: None), device), {"ok": True}
    with contextlib.suppress(BaseException), mode():
        recorder.task = json.loads(request["task"])
        try:
            module = recorder.import_candidate(source.decode())
        except boot.Failure as failure:
            if is_of_compiler(failure.__context__):
                answer["unbuildable"] = tell_compiler(failure.__context__.args[0], boot)
            raise
        recorder.function = recorder.find_entry(module)
        call_all(recorder, request["cases"], end)
    return answer, pack(files(boot.CACHES) - before, boot)


def main():
    made = start(sys.argv[1])
    send(*rehearse(*receive(), *made))
    os._exit(0)


if __name__ == "__main__":  # processes that multiprocessing starts run this file, too
    main()
