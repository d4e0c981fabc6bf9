"""
How long a caller waits: from POST to answer by a kgraded that is warm, for candidates in Python.  Beside it, where they are at
hand, how long other graders' own evaluation takes, each in a process of its own from its start to its end:

    KERNELBENCH=DIR   a checkout of KernelBench: eval_kernel_against_ref of its level 1 softmax, 5 trials for correctness, 100 for time
    GPUMODE=DIR       a checkout of GPU MODE's reference-kernels: eval.py of pmpp_v2's vectoradd as test, benchmark and leaderboard

    KGRADE_SERVER=http://HOST:PORT python3 python_times.py

The kernels are the same; sizes are each one's own.

    TIMES=N      grades of each candidate after the first (5)
    PAUSE=S      seconds between two grades, in which the next processes get ready (6)
    DEVICE, CANDIDATES='FILE:TASK:LIMIT_MS ...'     something else to grade
"""
import http.client
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[3]
PYTHON = ROOT / "tests" / "gpu" / "python"
TIMES = int(os.environ.get("TIMES", "5"))
PAUSE = float(os.environ.get("PAUSE", "6"))
LIMIT_S = 300  # of another grader's evaluation
# Milliseconds: what the answer is wanted within, and the card held for.
WANTED = [("torch_softmax", "softmax", 1200), ("torch_add", "vector_add", 1200), ("triton_softmax", "softmax", 2500)]
HELD_MS = 600

MODEL = """
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
"""

MODEL_IN_TRITON = """
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(y, x, cols, B: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    top = tl.full((B,), -float("inf"), tl.float32)
    total = tl.zeros((B,), tl.float32)
    for first in range(0, cols, B):
        c = first + tl.arange(0, B)
        v = tl.load(x + row + c, mask=c < cols, other=-float("inf"))
        higher = tl.maximum(top, v)
        total = total * tl.exp(top - higher) + tl.exp(v - higher)
        top = higher
    highest = tl.max(top, 0)
    sums = tl.sum(total * tl.exp(top - highest), 0)
    for first in range(0, cols, B):
        c = first + tl.arange(0, B)
        v = tl.load(x + row + c, mask=c < cols, other=-float("inf"))
        tl.store(y + row + c, tl.exp(v - highest) / sums, mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(x.shape[0],)](y, x, x.shape[1], 4096, num_warps=8)
        return y
"""

# With stand-ins for what its package imports and this use of it does not need.
KERNELBENCH_RUN = """
import importlib.util, os, sys, types

class BaseModel:
    def __init__(self, **values):
        self.__dict__.update(values)

for name, members in (("pydantic", {"BaseModel": BaseModel}), ("requests", {})):
    if importlib.util.find_spec(name) is None:
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__dict__.update(members)
package = types.ModuleType("kernelbench")
package.__path__ = [os.path.join(sys.argv[1], "src", "kernelbench")]
sys.modules["kernelbench"] = package
import torch
from kernelbench.eval import eval_kernel_against_ref

if __name__ == "__main__":
    with open(os.path.join(sys.argv[1], "KernelBench", "level1", "23_Softmax.py")) as file:
        reference = file.read()
    with open(sys.argv[2]) as file:
        candidate = file.read()
    result = eval_kernel_against_ref(reference, candidate, num_correct_trials=5, num_perf_trials=100, measure_performance=True,
                                     timing_method="cuda_event", build_dir=sys.argv[3], device=torch.device("cuda:0"),
                                     backend=sys.argv[4])
    print("right:", bool(result and result.correctness))
"""

SUBMISSION = """
import torch


def custom_kernel(data):
    a, b, output = data
    return torch.add(a, b, out=output)
"""


def post(server, request):
    """The result, and ms from before the connection is made to the last byte."""
    where = urllib.parse.urlsplit(server)
    body = json.dumps(request)
    start = time.monotonic()
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=600)
    connection.request("POST", "/grade?wait=600", body, {"Content-Type": "application/json"})
    answer = connection.getresponse().read()
    took = 1000 * (time.monotonic() - start)
    connection.close()
    return json.loads(answer), took


def candidates():
    """Name, file, task, wanted ms."""
    if "CANDIDATES" in os.environ:
        for one in os.environ["CANDIDATES"].split():
            file, task, wanted = one.rsplit(":", 2)
            yield pathlib.Path(file).stem, pathlib.Path(file), task, int(wanted)
        return
    for name, task, wanted in WANTED:
        yield name, PYTHON / name / "candidate.py", task, wanted


def time_one(server, name, file, task, wanted):
    """The median, ms; None: there was no answer to time."""
    request = {"task": task, "device": os.environ.get("DEVICE", "cuda"), "language": "python", "source": file.read_text()}
    times, held, verdicts = [], [], set()
    for i in range(1 + TIMES):
        result, took = post(server, request)
        verdicts.add(result.get("verdict") or str(result)[:100])
        times.append(took)
        held.append(result.get("steps", {}).get("device_held_ms", 0))
        time.sleep(PAUSE)
    if not times[1:]:
        return None
    median, held = statistics.median(times[1:]), statistics.median(held[1:])
    print(f"{name:<26} {', '.join(sorted(verdicts)):<14} {times[0]:>8.0f} {min(times[1:]):>8.0f} {median:>8.0f} {max(times[1:]):>8.0f} {wanted:>8} "
          f"{held:>8.0f} {HELD_MS:>8}  {'within' if median <= wanted and held <= HELD_MS else 'MORE'}", flush=True)
    return median


def timed(command, folder, **more):
    """ms, and the last line that it wrote."""
    start = time.monotonic()
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, **more)
    except subprocess.TimeoutExpired:
        return 1000.0 * LIMIT_S, "longer than that"
    took = 1000 * (time.monotonic() - start)
    lines = (done.stdout.strip() or done.stderr.strip() or "nothing said").splitlines()
    return took, f"status {done.returncode}: {lines[-1][:100]}"


def show_other(name, took, said, ours):
    ratio = f"{took / ours:.1f} times as long" if ours else ""
    print(f"{name:<26} {took:>8.0f} ms  {ratio:<22} {said}", flush=True)


def kernelbench(folder, ours):
    for name, text, backend in (("torch_softmax", MODEL, "cuda"), ("triton_softmax", MODEL_IN_TRITON, "triton")):
        with tempfile.TemporaryDirectory() as work:
            pathlib.Path(work, "run.py").write_text(KERNELBENCH_RUN)
            pathlib.Path(work, "candidate.py").write_text(text)
            took, said = timed([sys.executable, "run.py", folder, "candidate.py", os.path.join(work, "build"), backend], work)
        show_other("KernelBench " + name.split("_")[0], took, said, ours.get(name))


def cases(folder, key):
    """Those of task.yml, a line each, as its runner writes them."""
    text = (folder / "task.yml").read_text()
    block = re.search(rf"^{key}:\n((?:  - .*\n?)+)", text, re.MULTILINE).group(1)
    return "".join("; ".join(f"{k}: {v}" for k, v in re.findall(r'"(\w+)": (\w+)', line)) + "\n" for line in block.splitlines())


def gpumode(checkout, ours):
    problem = pathlib.Path(checkout, "problems", "pmpp_v2", "vectoradd_py")
    with tempfile.TemporaryDirectory() as work:
        for file in (problem / "task.py", problem / "reference.py", problem.parent / "utils.py", problem.parent / "eval.py"):
            pathlib.Path(work, file.name).write_text(file.read_text())
        pathlib.Path(work, "submission.py").write_text(SUBMISSION)
        total, words = 0.0, []
        for mode, key in (("test", "tests"), ("benchmark", "benchmarks"), ("leaderboard", "benchmarks")):
            pathlib.Path(work, "cases.txt").write_text(cases(problem, key))
            reading, writing = os.pipe()
            took, said = timed([sys.executable, "eval.py", mode, "cases.txt"], work, pass_fds=[writing],
                               env={**os.environ, "POPCORN_FD": str(writing)})
            os.close(writing)
            with os.fdopen(reading) as file:
                told = file.read()
            total += took
            words.append(f"{mode} {took:.0f} ms, {'pass' if 'check: pass' in told else said}")
    show_other("GPU MODE torch", total, "; ".join(words), ours.get("torch_add"))


def main():
    server, ours = os.environ["KGRADE_SERVER"], {}
    print(f"{'ms, POST to answer':<26} {'verdict':<14} {'first':>8} {'min':>8} {'median':>8} {'max':>8} {'wanted':>8} {'held':>8} {'wanted':>8}", flush=True)
    for name, file, task, wanted in candidates():
        ours[name] = time_one(server, name, file, task, wanted)
    for variable, other in (("KERNELBENCH", kernelbench), ("GPUMODE", gpumode)):
        if os.environ.get(variable):
            other(os.environ[variable], ours)
        else:
            print(f"{variable} names no checkout: nothing to compare with")


main()
