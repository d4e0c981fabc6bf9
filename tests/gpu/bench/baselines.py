"""
The tasks' CUDA baselines against PyTorch's own operators: the device time of the graph of one call, on fresh inputs, with L2
emptied by reading.  Both are timed alike, in this process; kgrade's own clock has no part in it.

    python3 baselines.py [TASK...]

For each benchmark case: ns of both, their ratio (above 1: the baseline is faster), and the largest difference of the outputs,
relative to their root mean square.  Last, the geometric mean per task and over all.  Needs nvcc.
"""
import ast
import ctypes
import json
import math
import multiprocessing
import operator
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parents[3]
SAMPLES = 30
TORCH_TYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
               "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2, "i8": torch.int8, "u8": torch.uint8,
               "i32": torch.int32, "i64": torch.int64, "bool": torch.bool}

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True


def extent(text, dims):
    """An expression of task.json."""
    names = {"min": min, "max": max, "ceil_div": lambda a, b: -(-a // b)}
    operators = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.floordiv,
                 ast.Mod: operator.mod}

    def value(node):
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return dims[node.id]
        if isinstance(node, ast.Call):
            return names[node.func.id](*(value(a) for a in node.args))
        return operators[type(node.op)](value(node.left), value(node.right))

    return value(ast.parse(text, mode="eval").body)


def draw(to, values):
    """New values in place, of the kind that the task draws."""
    kind, scale, offset = values["distribution"], values.get("scale", 1), values.get("offset", 0)
    n = to.numel()
    if kind == "integer":
        low, high = values["low"], values["high"]
        v = torch.randint(low, high + 1, to.shape, device="cuda", dtype=torch.int64)
    elif kind == "permutation":
        v = torch.randperm(n, device="cuda").reshape(to.shape)
    elif kind == "sorted":
        v = torch.sort(torch.rand(n, device="cuda")).values.reshape(to.shape)
    else:
        v = torch.randn(to.shape, device="cuda") if kind == "normal" else torch.rand(to.shape, device="cuda")
    if not to.dtype.is_floating_point:
        to.copy_((v * int(scale) + int(offset)) if kind == "integer" else (v * scale + offset).to(torch.int64))
    else:
        to.copy_(v.float().mul_(scale).add_(offset))


def grouped(t, d):
    ends = (t["cuts"].long() * d["tokens"]) >> 20
    offs = torch.cat([ends, ends.new_full((1,), d["tokens"])]).to(torch.int32)
    return lambda: torch._grouped_mm(t["a"], t["b"], offs=offs)


def fp8(t, d):
    """Scales of rows of 128 and of squares of 128 x 128; the former must lie column by column."""
    scale_a, scale_b = t["a_scale"].t().contiguous().t(), t["b_scale"].t()
    return lambda: torch._scaled_mm(t["a"], t["b"].t(), scale_a=scale_a, scale_b=scale_b, out_dtype=torch.bfloat16)


# Each gives a call that returns the task's first output.
OPERATORS = {
    "vector_add": lambda t, d: lambda: torch.add(t["a"], t["b"], out=t["c"]),
    "reduction": lambda t, d: lambda: torch.sum(t["x"]),
    "transpose": lambda t, d: lambda: t["x"].t().contiguous(),
    "softmax": lambda t, d: lambda: torch.softmax(t["x"], dim=1),
    "matmul": lambda t, d: lambda: torch.matmul(t["a"], t["b"], out=t["c"]),
    "matmul_bf16": lambda t, d: lambda: torch.matmul(t["a"], t["b"], out=t["c"]),
    "matmul_fp8": fp8,
    "grouped_matmul": grouped,
    "prefix_sum": lambda t, d: lambda: torch.cumsum(t["input"], dim=0),
    "sort": lambda t, d: lambda: torch.sort(t["input"]).values,
    "top_k": lambda t, d: lambda: torch.topk(t["input"], d["k"], dim=1).values,
    "conv2d": lambda t, d: lambda: F.conv2d(t["input"], t["weights"]),
    "rmsnorm": lambda t, d: lambda: F.rms_norm(t["x"], t["x"].shape[1:], t["weight"], 1e-5),
    "layernorm": lambda t, d: lambda: F.layer_norm(t["x"], t["x"].shape[1:], t["weight"], t["bias"], 1e-5),
    "histogram": lambda t, d: lambda: torch.histc(t["input"], bins=t["bins"].numel(), min=0,
                                                  max=t["bins"].numel() - 1),
    "attention": lambda t, d: lambda: F.scaled_dot_product_attention(t["q"], t["k"], t["v"], is_causal=True,
                                                                     enable_gqa=True),
}


class Baseline:
    def __init__(self, name, task, folder):
        library = os.path.join(folder, name + ".so")
        subprocess.run(["nvcc", "-w", "-O3", "-std=c++17", "-arch=sm_90a", "-shared", "-Xcompiler", "-fPIC", "-cudart", "shared",
                        "-o", library, ROOT / "tasks" / name / "baseline.cuda.cu"], check=True)
        self.entry = getattr(ctypes.CDLL(library), task["entry"])
        self.parameters = task["parameters"]

    def call(self, tensors, dims):
        words = []
        for p in self.parameters:
            if p["kind"] == "stream":
                words.append(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
            elif p["kind"] == "dim":
                words.append((ctypes.c_int if p["dtype"] == "i32" else ctypes.c_int64)(dims[p["name"]]))
            elif p["kind"] == "scalar":
                words.append({"f32": ctypes.c_float, "f64": ctypes.c_double, "i32": ctypes.c_int,
                              "i64": ctypes.c_int64}[p["dtype"]](p["value"]))
            else:
                words.append(ctypes.c_void_p(tensors[p["name"]].data_ptr()))
        self.entry(*words)


def graph_of(call):
    """A graph of one call, and what the call returned."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        result = call()
    torch.cuda.synchronize()
    return graph, result


class Clock:
    """Events around a graph that is queued while the device is busy, so that its launch is not in between."""

    def __init__(self):
        self.cold = torch.zeros(64 << 20, dtype=torch.int32, device="cuda")
        self.nothing, _ = graph_of(lambda: torch.cuda._sleep(1))
        self.floor = statistics.median(self.sample(self.nothing, lambda: None) for _ in range(50))

    def sample(self, graph, prepare):
        prepare()
        self.cold.max()  # reads all of it: clean lines
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(200000)
        start.record()
        graph.replay()
        stop.record()
        torch.cuda.synchronize()
        return 1e6 * start.elapsed_time(stop)

    def median(self, graph, prepare):
        for _ in range(3):
            self.sample(graph, prepare)
        return statistics.median(self.sample(graph, prepare) for _ in range(SAMPLES)) - self.floor


def one_case(name, task, baseline, dims, clock):
    tensors = {p["name"]: torch.empty([extent(e, dims) for e in p["shape"]], dtype=TORCH_TYPES[p["dtype"]], device="cuda")
               for p in task["parameters"] if "shape" in p}
    inputs = [p for p in task["parameters"] if p["kind"] in ("in", "inout")]
    outputs = [p["name"] for p in task["parameters"] if p["kind"] == "out"]

    def prepare():
        for p in inputs:
            draw(tensors[p["name"]], p["values"])

    prepare()
    ours, _ = graph_of(lambda: baseline.call(tensors, dims))
    ours.replay()
    torch.cuda.synchronize()
    answer = tensors[outputs[0]].double()
    theirs, result = graph_of(OPERATORS[name](tensors, dims))
    theirs.replay()
    torch.cuda.synchronize()
    expected = result.double().reshape(answer.shape)
    size = expected.square().mean().sqrt().item()
    if not size:
        raise ValueError("PyTorch's answer is all zeros")
    error = (answer - expected).abs().max().item() / size
    if name == "grouped_matmul":
        prepare = lambda: [draw(tensors[x], next(p["values"] for p in inputs if p["name"] == x)) for x in ("a", "b")]
    times = [clock.median(graph, prepare) for graph in (ours, theirs)]
    return times[0], times[1], error


def run_task(name, folder, queue):
    """In a process of its own: an operator that faults takes its context with it."""
    task = json.loads((ROOT / "tasks" / name / "task.json").read_text())
    baseline = Baseline(name, task, folder)
    clock = Clock()
    for case in task["cases"]["benchmark"]:
        if "cuda" not in case.get("devices", ["cuda"]):
            continue
        dims = {k: v for k, v in case.items() if k != "devices"}
        label = " ".join(f"{k}={v}" for k, v in dims.items())
        try:
            ours, theirs, error = one_case(name, task, baseline, dims, clock)
        except Exception as problem:  # PyTorch's operator may not take the shape: said, not hidden
            print(f"{name:<15} {label:<42} {type(problem).__name__}: {str(problem).splitlines()[0][:90]}", flush=True)
            continue
        queue.put(math.log(theirs / ours))
        print(f"{name:<15} {label:<42} {ours:>10.0f} {theirs:>10.0f} {theirs / ours:>7.3f} {error:>9.1e}", flush=True)
        torch.cuda.empty_cache()


def main():
    names = sys.argv[1:] or sorted(p.parent.name for p in (ROOT / "tasks").glob("*/baseline.cuda.cu"))
    logs = {}
    fork = multiprocessing.get_context("fork")
    print(f"{'task':<15} {'case':<42} {'baseline':>10} {'PyTorch':>10} {'ratio':>7} {'differ':>9}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            if name not in OPERATORS:
                print(f"{name:<15} PyTorch has no such operator")
                continue
            queue = fork.Queue()
            process = fork.Process(target=run_task, args=(name, folder, queue))
            process.start()
            process.join()
            while not queue.empty():
                logs.setdefault(name, []).append(queue.get())
    for name, values in logs.items():
        print(f"{name:<15} geometric mean {math.exp(statistics.mean(values)):.3f}")
    every = [v for values in logs.values() for v in values]
    print(f"all of {len(every)} cases: geometric mean {math.exp(statistics.mean(every)):.3f}")


main()
