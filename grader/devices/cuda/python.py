"""What a Python candidate gets on the CUDA device: PyTorch tensors over the recorder's memory, and the stream that is captured."""

import math
import sys

torch = None
HINTS = {}
RANDOM = ("random_numbers", "Random numbers drawn in the call cannot be recorded: every replay would have the same. Do without them.")
REFUSALS = {  # PyTorch's own words for what it does not do while a stream is captured
    "not in capture mode": RANDOM,
    "outside graph capture": RANDOM,
    "Cannot call CUDAGeneratorImpl": RANDOM,
    "Cannot copy between CPU and CUDA tensors": ("host_copy", "Work on the device: the host's memory has no place in a recording."),
    "Cannot prepare for replay during capturing": ("graph_launch", "Launch the kernels themselves: the recording makes a graph of them."),
}
CAPTURED = 2  # the stream that calls are captured on, cudaStreamPerThread, also in tasks that do not pass it
VIEWS = {"f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f16": "float16", "bf16": "bfloat16", "f32": "float32",
         "f64": "float64", "i8": "int8", "u8": "uint8", "i32": "int32", "i64": "int64", "bool": "bool"}


class Memory:
    """A piece of device memory, as every framework can take it."""

    def __init__(self, address, size):
        self.__cuda_array_interface__ = {"version": 3, "data": (address, False), "shape": (size,), "typestr": "|u1"}


def start():
    global torch
    import torch
    memory = torch.cuda.memory
    memory.change_current_allocator(memory.CUDAPluggableAllocator(sys.argv[1], "kgrade_torch_allocate", "kgrade_torch_free"))
    torch.cuda.synchronize()  # the runtime has all of PyTorch's kernels to take note of; it allocates nothing
    try:
        start_triton()
    except Exception:  # it is not there, or is one that does this otherwise: then a candidate's first kernel waits for it
        pass


def start_triton():
    """Imports Triton, builds what it needs for any kernel, and has it compile one, so that its compiler is there as well."""
    global triton, tl
    import triton
    import triton.language as tl
    from triton.compiler import ASTSource

    def nothing(x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + i, tl.load(x + i, mask=i < n), mask=i < n)

    target = triton.runtime.driver.active.get_current_target()
    triton.compile(ASTSource(triton.jit(nothing), {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 128}), target=target)


def settle():
    torch.cuda.set_stream(torch.cuda.ExternalStream(CAPTURED))


def buffer(address, dtype, shape):
    kind = getattr(torch, VIEWS[dtype])
    count = math.prod(shape)
    if count == 0:
        return torch.empty(shape, dtype=kind, device="cuda")
    flat = torch.as_tensor(Memory(address, count * kind.itemsize), device="cuda")
    return flat.view(kind).reshape(shape)


def stream(address):
    return torch.cuda.ExternalStream(address)


def array(address, dtype, shape, stream_address):
    return buffer(address, dtype, shape)


def permute(whole, order):
    return whole.permute(order)


def place(model):
    return model.to("cuda") if isinstance(model, torch.nn.Module) else model


def deliver(output, returned):
    if not isinstance(returned, torch.Tensor):
        return "an output is a tensor"
    if returned.shape != output.shape:
        return f"the shape is {tuple(returned.shape)}, that of the output {tuple(output.shape)}"
    with torch.no_grad():  # whether or not the candidate's tensors ask for gradients
        output.copy_(returned)
    return None
