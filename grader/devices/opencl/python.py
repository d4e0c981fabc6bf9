"""What a Python candidate gets on the OpenCL device: objects of PyOpenCL."""

pyopencl = None

HINTS = {
    "INVALID_OPERATION": "The log tells which function kgrade does not offer to candidates.",
    "INVALID_CONTEXT": "Make programs and buffers in the context of the given queue: queue.context.",
    "invalid kernel argument": "Numbers that a kernel gets have a size: numpy.int32(n), numpy.float32(x).",
}


def start():
    global pyopencl
    import pyopencl


def settle():
    pass


def buffer(address, dtype, shape):
    return pyopencl.Buffer.from_int_ptr(address, retain=True)


def stream(address):
    return pyopencl.CommandQueue.from_int_ptr(address, retain=True)


def deliver(output, returned):
    return "on OpenCL outputs are not returned"
