"""What a Python candidate gets on the OpenCL device: objects of PyOpenCL."""

pyopencl = None

TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "i8": "int8", "u8": "uint8", "i32": "int32", "i64": "int64",
         "bool": "bool"}  # of NumPy

HINTS = {
    "INVALID_OPERATION": "The log tells which function kgrade does not offer to candidates.",
    "INVALID_CONTEXT": "Make programs and buffers in the context of the given queue: queue.context.",
    "MEM_OBJECT_ALLOCATION_FAILURE": "All buffers together, kept ones too, have to fit the task's workspace_bytes.",
    "invalid kernel argument": "Numbers that a kernel gets have a size: numpy.int32(n), numpy.float32(x).",
}
REFUSALS = {}


def start():
    global pyopencl
    import pyopencl


def settle():
    pass


def buffer(address, dtype, shape):
    return pyopencl.Buffer.from_int_ptr(address, retain=True)


def stream(address):
    return pyopencl.CommandQueue.from_int_ptr(address, retain=True)


def array(address, dtype, shape, stream_address):
    """An array knows its queue, its shape and its type, which a foreign task does not pass."""
    import pyopencl.array
    if dtype not in TYPES:
        raise TypeError(f"PyOpenCL has no arrays of {dtype}")
    return pyopencl.array.Array(stream(stream_address), tuple(shape), TYPES[dtype], data=buffer(address, dtype, shape))


def permute(whole, order):
    return whole.transpose(order)


def place(model):
    return model


def deliver(output, returned):
    if not isinstance(output, pyopencl.Buffer) and type(returned) is type(output):
        if returned.shape != output.shape or returned.dtype != output.dtype:
            return f"it is {returned.dtype} of shape {returned.shape}, the output {output.dtype} of shape {output.shape}"
        if not returned.flags.c_contiguous:
            return "it is a view with gaps or with its axes in another order; return an array that lies as the output does"
        pyopencl.enqueue_copy(output.queue, output.data, returned.base_data, byte_count=output.nbytes, src_offset=returned.offset)
        return None
    return "on OpenCL outputs are not returned, but for arrays of pyopencl.array in foreign tasks"
