"""
kgrade's replay of a candidate's recording beside the candidate's own torch.cuda.CUDAGraph: device time of both with cold L2, by
the same gate, on the same buffers and inputs, in one process; and whether their outputs are the same, bit for bit.

    python3 python_graph.py KGRADE LIBRARY [NAME...]     candidates of tests/gpu/python (default: those below)

All are graded first, for their recordings, several at a time: those times count for nothing.  LIBRARY is python_graph.c;
libraries that it needs and that are not installed are looked for in the folders of $STAGED.  The interpreter is the one that
runs this.  None is begun after $LIMIT_S seconds (540).
"""
import concurrent.futures
import ctypes
import importlib.util
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
NAMES = ["torch_add", "torch_softmax", "torch_layer_norm", "torch_rms_norm", "torch_cumsum", "torch_transpose", "torch_sum", "torch_matmul",
         "torch_matmul_bf16", "torch_linear_cublaslt", "torch_conv2d", "torch_attention", "torch_rfft", "in_place", "two_streams",
         "many_operators", "noncontiguous_output", "triton_softmax", "triton_matmul", "triton_autotuned", "triton_tma_matmul",
         "triton_flash_attention", "cupy_raw_kernel", "torch_sort", "torch_compile"]
SAMPLES = 40
TRIES = 10  # of a sample that is void
LONG_NS = 10000  # from which on the two are expected to agree
AGREEMENT = 0.01
AT_A_TIME = 4
LIMIT_S = float(os.environ.get("LIMIT_S", "540"))


def task_of(name):
    return json.loads((ROOT / "tests/gpu/python" / name / "expect.json").read_text())["task"]


def load_module(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Beside:
    """python_graph.c."""

    def __init__(self, path):
        self.library = self.open_library(path)
        self.library.beside_error.restype = ctypes.c_char_p

    def open_library(self, path):
        """With the staged libraries that it needs opened before it, one by one as the loader names them."""
        for _ in range(10):
            try:
                return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
            except OSError as error:
                name = str(error).split(":")[0]
                found = [os.path.join(f, name) for f in os.environ.get("STAGED", "").split(":") if os.path.exists(os.path.join(f, name))]
                if not found:
                    raise
                self.open_library(found[0])
        raise OSError(f"{path} needs too many libraries")

    def call(self, function, *arguments):
        if getattr(self.library, "beside_" + function)(*arguments):
            raise RuntimeError(self.library.beside_error().decode())

    def open(self, folder, recording):
        self.call("open", str(folder).encode(), str(recording).encode())

    def load(self, dims):
        self.call("load", (ctypes.c_int64 * (len(dims) or 1))(*dims))

    def arguments(self):
        text = ctypes.create_string_buffer(1 << 16)
        self.call("arguments", text, ctypes.c_size_t(len(text)))
        return text.value.decode()

    def prepare(self, seed, cold=True):
        self.call("prepare", ctypes.c_uint64(seed), ctypes.c_bool(cold))

    def take(self, graph):
        self.call("take", ctypes.c_void_p(graph))

    def sample(self, which, seed, empty=False):
        """ns; which: "replay" or "run"."""
        for _ in range(TRIES):
            ns, void = ctypes.c_uint64(), ctypes.c_bool()
            self.prepare(seed)
            self.call(which, ctypes.c_bool(empty), ctypes.byref(ns), ctypes.byref(void))
            if not void.value:
                return ns.value
        raise RuntimeError("All samples are void.")


def middle(values):
    """The mean of the middle half: finer than a tick."""
    values = sorted(values)
    quarter = len(values) // 4
    return statistics.mean(values[quarter:len(values) - quarter])


class Candidate:
    """As the recorder has it: its own Python makes the arguments and the call."""

    def __init__(self, name, task):
        boot = load_module(ROOT / "grader/python/boot.py", "boot")
        self.device = load_module(ROOT / "grader/devices/cuda/python.py", "kgrade_device")
        self.device.torch = self.torch = __import__("torch")
        self.recorder = boot.Recorder(None, self.device)
        kept = {"entry": task["entry"], "parameters": [{k: p[k] for k in ("name", "kind", "dtype") if k in p} for p in task["parameters"]]}
        source = (ROOT / "tests/gpu/python" / name / "candidate.py").read_bytes()
        self.recorder.load_candidate(json.dumps(kept), ctypes.create_string_buffer(source, len(source)), len(source))

    def call(self):
        result = self.recorder.called(*self.recorder.arguments, **self.recorder.keywords)
        if self.recorder.returns:
            self.recorder.deliver(result)

    def graph(self, arguments):
        """Of one call, after three others.  What it allocates stays as long as the graph."""
        self.recorder.bind(arguments)
        for _ in range(3):
            self.call()
        self.torch.cuda.synchronize()
        graph = self.torch.cuda.CUDAGraph(keep_graph=True)
        with self.torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self.call()
        self.torch.cuda.synchronize()
        return graph

    def outputs(self):
        copies = [output.reshape(-1).view(self.torch.uint8).clone() for output in self.recorder.outputs]
        self.torch.cuda.synchronize()
        return copies

    def same(self, one, other):
        return all(self.torch.equal(a, b) for a, b in zip(one, other))


def bits(beside, candidate):
    """The outputs of both on the same inputs."""
    answers = []
    for which in ("replay", "replay", "run"):
        beside.sample(which, 20231)
        answers.append(candidate.outputs())
    if candidate.same(answers[0], answers[2]):
        return "same"
    return "differ" if candidate.same(answers[0], answers[1]) else "vary"


def one_case(beside, candidate, dims):
    beside.load(dims)
    beside.prepare(1)
    graph = candidate.graph(beside.arguments())
    beside.take(graph.raw_cuda_graph())
    same = bits(beside, candidate)
    floors = {which: middle([beside.sample(which, i, True) for i in range(SAMPLES)]) for which in ("replay", "run")}
    times = {"replay": [], "run": []}
    for i in range(SAMPLES):
        for which in random.sample(("replay", "run"), 2):
            times[which].append(beside.sample(which, 1000 + i))
    return {which: middle(times[which]) - floors[which] for which in times}, same


def one(library, name, recording):
    """In a process of its own; a line of JSON for each case."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        task = json.loads((ROOT / "tasks" / task_of(name) / "task.json").read_text())
        beside = Beside(library)
        beside.open(ROOT / "tasks" / task["name"], recording)
        candidate = Candidate(name, task)
        dims = [p["name"] for p in task["parameters"] if p["kind"] == "dim"]
        for case in task["cases"]["benchmark"]:
            if "cuda" not in case.get("devices", ["cuda"]):
                continue
            label = " ".join(f"{d}={case[d]}" for d in dims)
            try:
                times, same = one_case(beside, candidate, [case[d] for d in dims])
                print(json.dumps({"case": label, **times, "bits": same}), flush=True)
            except Exception as error:
                print(json.dumps({"case": label, "error": f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"}), flush=True)
        sys.stdout.flush()
        os._exit(0)  # graphs of others are in use; nothing is left to be tidied up in a certain order


def record(kgrade, name, into):
    """A text says why there is no recording."""
    source = ROOT / "tests/gpu/python" / name / "candidate.py"
    environment = {k: v for k, v in os.environ.items() if k not in ("KGRADE_SERVER", "STAGED")}
    environment["LD_LIBRARY_PATH"] = os.environ.get("STAGED", "")
    done = subprocess.run([kgrade, "grade", "--device", "cuda", "--language", "python", "--python", sys.executable, "--task", task_of(name),
                           "--isolation", "reduced", "--precision", "0.05", "--max-samples", "10", "--json", "--recording", into, source],
                          capture_output=True, text=True, env=environment)
    try:
        result = json.loads(done.stdout)
    except ValueError:
        return (done.stderr.strip() or "no answer")[:200]
    return None if os.path.exists(into) else f"{result['verdict']} {(result['reason'] or {}).get('message', '')[:160]}"


def run_one(library, name, recording):
    try:
        done = subprocess.run([sys.executable, "-B", __file__, "--one", library, name, recording], capture_output=True, text=True, timeout=240)
    except subprocess.TimeoutExpired:
        return [{"case": "", "error": "took longer than 240 s"}]
    lines = [json.loads(line) for line in done.stdout.splitlines() if re.match(r'\{"case"', line)]
    return lines or [{"case": "", "error": " ".join((done.stderr.strip().splitlines() or ["ended without a word"])[-1].split())[:200]}]


def show(name, row):
    figures = row.get("error") or f"{row['replay']:>10.0f} {row['run']:>10.0f} {row['replay'] / row['run']:>7.4f}  {row['bits']}"
    print(f"{name:<24} {row['case']:<58} {figures}", flush=True)


def summary(seen):
    long = [r["replay"] / r["run"] for r in seen if r["run"] >= LONG_NS]
    near = sum(abs(ratio - 1) <= AGREEMENT for ratio in long)
    worst = max(long, key=lambda r: abs(r - 1), default=1)
    fixed = [r for r in seen if r["bits"] != "vary"]
    same = sum(r["bits"] == "same" for r in fixed)
    print(f"graph: of {len(long)} cases of {LONG_NS / 1000:.0f} us and more {near} agree within {AGREEMENT:.0%}, worst ratio {worst:.4f}; "
          f"outputs are the same in {same} of {len(fixed)} that do not vary by themselves")


def main(arguments):
    if arguments[:1] == ["--one"]:
        return one(*arguments[1:])
    kgrade, library, *names = arguments
    names, seen, start = names or NAMES, [], time.monotonic()
    print(f"{'candidate':<24} {'case':<58} {'kgrade':>10} {'own graph':>10} {'ratio':>7}  outputs", flush=True)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as graders:
        recordings = {name: os.path.join(folder, name + ".kgr") for name in names}
        why = dict(zip(names, graders.map(lambda name: record(kgrade, name, recordings[name]), names)))
        for name in names:
            if not why[name] and time.monotonic() - start > LIMIT_S:
                why[name] = "not run: out of time"
            for row in [{"case": "", "error": why[name]}] if why[name] else run_one(library, name, recordings[name]):
                show(name, row)
                if "error" not in row:
                    seen.append(row)
    summary(seen)


if __name__ == "__main__":
    main(sys.argv[1:])
