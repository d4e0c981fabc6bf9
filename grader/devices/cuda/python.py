"""What a Python candidate gets on the CUDA device: PyTorch tensors over the recorder's memory, and the stream that is captured."""

import sys

torch = None
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
    try:
        import triton  # noqa: F401  (imported ahead, for candidates that use it)
    except ImportError:
        pass


def buffer(address, dtype, shape, writable):
    kind = getattr(torch, VIEWS[dtype])
    count = 1
    for extent in shape:
        count *= extent
    if count == 0:
        return torch.empty(shape, dtype=kind, device="cuda")
    flat = torch.as_tensor(Memory(address, count * kind.itemsize), device="cuda")
    return flat.view(kind).reshape(shape)


def stream(address):
    ours = torch.cuda.ExternalStream(address)
    torch.cuda.set_stream(ours)
    return ours


def deliver(output, returned):
    if not isinstance(returned, torch.Tensor) or returned.shape != output.shape:
        return NotImplemented
    output.copy_(returned)
    return None
