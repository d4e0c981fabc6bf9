"""What a Python candidate gets on the OpenCL device: objects of PyOpenCL."""

pyopencl = None


def start():
    global pyopencl
    import pyopencl


def buffer(address, dtype, shape, writable):
    return pyopencl.Buffer.from_int_ptr(address, retain=True)


def stream(address):
    return pyopencl.CommandQueue.from_int_ptr(address, retain=True)


def deliver(output, returned):
    return NotImplemented
