"""kgrade regrade: planning, grading, going on after an end of any kind, what is written.

Few grades are made, and what their times are does not matter; the store, the adapters and the page have unit tests of their own.
"""

import csv
import json
import os
import signal
import sqlite3
import subprocess
import tempfile
import time

from common import BRIEFLY, EXAMPLE, KGRADE, Case, main, processes_of, run

# Verdicts of a right candidate on a machine that may be busy.
RIGHT = {"accepted", "unresolved", "suspect"}
PYTHON = "/usr/bin/python3"  # whose modules are Debian's

# A problem as GPU MODE has them, for NumPy and PyOpenCL, with a solution.
PROBLEM = {
    "task.yml": """
files:
  - {name: submission.py, source: "@SUBMISSION@"}
  - {name: task.py, source: task.py}
  - {name: reference.py, source: reference.py}
lang: py
ranking_by: geom
tests: [{size: 33, seed: 7}]
benchmarks: [{size: 4096, seed: 9}]
""",
    "task.py": "FACTOR = 2\n",
    "reference.py": """
import numpy
from task import FACTOR

def generate_input(size, seed):
    return numpy.random.default_rng(seed).random(size, numpy.float32), numpy.empty(size, numpy.float32)

def ref_kernel(data):
    data[1][...] = FACTOR * data[0] + 1
    return data[1]

def check_implementation(data, output):
    return bool(numpy.allclose(output, ref_kernel(data))), ""
""",
    "solutions/correct/good.py": """
import numpy, pyopencl
from task import FACTOR

SOURCE = "kernel void scale(global const float *x, global float *y, float f) { int i = get_global_id(0); y[i] = f * x[i] + 1; }"
kernels = []

def custom_kernel(data):
    x, y = data
    if not kernels:
        kernels.append(pyopencl.Program(x.queue.context, SOURCE).build().scale)
    kernels[0](x.queue, (y.size,), None, x.data, y.data, numpy.float32(FACTOR))
    return y
""",
}
# What a problem's reference asks PyTorch for, as its baseline for CUDA: nothing that reads from the host or waits in later calls.
TRY_BASELINE = """
import runpy, sys, types
try:
    import torch
    counted = torch.tensor([3, 1, 3], dtype=torch.uint8)
except ImportError:
    torch, counted = types.ModuleType("torch"), None
    torch.tensor, torch.bincount = lambda data, **how: [data, how], lambda values, weights, minlength: None
sys.modules["torch"] = torch
runpy.run_path(sys.argv[1])
a = torch.tensor([1.5], device="cpu")
assert torch.tensor([1.5], device="cpu") is a and torch.tensor([2.5], device="cpu") is not a
if counted is not None:
    assert torch.bincount(counted, minlength=5).tolist() == [0, 1, 0, 2, 0]
    assert torch.bincount(counted).tolist() == [0, 1, 0, 2]
"""
# A task of AgentKernelArena, and what is asked of what becomes of it: other inputs for each seed, and what the kernel writes.
ARENA_TASK = {
    "config.yaml": """
source_file_path: [source/double.py]
target_kernel_functions: [double_kernel]
compile_command: [python3 scripts/task_runner.py compile]
correctness_command: [python3 scripts/task_runner.py correctness]
task_type: triton2triton
""",
    "source/double.py": """
def _choose():
    return 2

def double(x, factor, *, scale, kind):
    assert kind is x.dtype
    x *= factor * scale
    return x, x.sum(0)
""",
    "scripts/task_runner.py": """
TEST_SHAPES = [(2, 3), (4, 5)]

def load_module():
    raise ValueError("no kernel of its own is loaded")

def run_correctness():
    import torch
    try:
        kernel = load_module()
        for i, (rows, cols) in enumerate(TEST_SHAPES):
            torch.manual_seed(42 + i)
            x = torch.randn(rows, cols)
            got = kernel.double(x, kernel._choose(), scale=1.5, kind=torch.float32)
        return True, None
    except Exception as error:
        return False, str(error)
""",
}
TRY_ARENA = """
import sys
sys.path.insert(0, sys.argv[1])
import torch, arena
first, again, other, large = arena.generate(0, 1), arena.generate(0, 1), arena.generate(0, 2), arena.generate(-1, 1)
assert first[0] == "double" and first[1] == [0] and first[3] == {"scale": 1.5, "kind": "torch.float32"}, first
(x, factor), (y, _), (z, _) = first[2], again[2], other[2]
assert factor == 2 and x.shape == (2, 3) and large[2][0].shape == (4, 5)
assert torch.equal(x, y) and not torch.equal(x, z)
written, total = arena.answer(first)
assert written is x and torch.equal(x, 3 * y) and torch.equal(total, x.sum(0))
torch.manual_seed(43)
a = torch.randn(3)
torch.manual_seed(43)
assert torch.equal(a, torch.randn(3))
"""
PATIENCE_S = 300
MANY, SLOW = 5, 4


class Regrade(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kgrade-test-")
        self.addCleanup(folder.cleanup)
        self.out = os.path.join(folder.name, "out")
        self.board = os.path.join(folder.name, "vector_add")
        os.mkdir(self.board)
        with open(EXAMPLE) as f:
            self.source = f.read()

    def put(self, name, text):
        with open(os.path.join(self.board, name), "w") as f:
            f.write(text)

    def put_board(self):
        """A right candidate, the same again by another author, one that does not compile, one without a source."""
        self.put("right.c", self.source)
        self.put("same.c", self.source)
        self.put("broken.c", "no C\n")
        self.put("board.csv", "file,author,rank,time_us\nright.c,alice,2,300\nbroken.c,mallory,1,0.5\ngone.c,carol,3,400\n")

    def regrade(self, *arguments, status=0):
        result = run("regrade", *arguments, "--out", self.out, *BRIEFLY)
        self.assert_exit(result, status)
        return result

    def rows(self, query):
        with sqlite3.connect(os.path.join(self.out, "regrade.db")) as db:
            return db.execute(query).fetchall()

    def report(self):
        self.run_ok("regrade", "report", self.out)
        with open(os.path.join(self.out, "results.jsonl")) as f:
            return {line["id"]: line for line in map(json.loads, f)}

    def test_plan(self):
        self.put_board()
        result = self.regrade(self.board, "--plan", "--json")
        plan = json.loads(result.stdout)
        self.assertEqual(plan["entries"], {"total": 4, "chosen": 3, "graded": 0, "skipped": 1, "left_out": 0})
        self.assertEqual(plan["candidates"]["to_do"], 2)
        self.assertEqual([(s["code"], s["entries"], s["example"]) for s in plan["skipped"]], [("no_source", 1, "gone.c")])
        self.assertNotIn("run", plan)
        for arguments, chosen in ((["--only", "mallory"], 1), (["--sample", "2"], 2), (["--only", "none"], 0)):
            plan = json.loads(self.regrade(self.board, "--plan", "--json", *arguments).stdout)
            self.assertEqual(plan["entries"]["chosen"], chosen)
        self.assertEqual(self.rows("SELECT count(*) FROM results"), [(0,)])
        self.assertIn("Nothing was graded", self.regrade(self.board, "--plan").stdout)

    def test_example(self):
        """The board that the README shows can be regraded, and its picture is of the figures that lie beside it."""
        example = os.path.dirname(EXAMPLE)
        board, tasks = os.path.join(example, "board"), os.path.join(example, "tasks")
        plan = self.run_json("regrade", board, "--tasks", tasks, "--out", self.out, "--plan", "--json", "--isolation", "reduced")
        self.assertEqual(plan["entries"]["total"], 10)
        self.assertLessEqual({skip["code"] for skip in plan["skipped"]}, {"needs_python"})
        self.assertEqual([note.split(":")[0] for note in plan["sources"][0]["notes"]], ["GELU, timed from outside was timed by"])
        drawn = subprocess.run([os.path.join(example, "chart"), os.path.join(example, "regraded.csv")], capture_output=True, check=True)
        with open(os.path.join(example, "board.svg"), "rb") as f:
            self.assertEqual(drawn.stdout, f.read())

    def test_problem(self):
        """A problem in Python becomes a task, an entry is judged by its own functions, and nothing is described twice."""
        problem = os.path.join(os.path.dirname(self.board), "scale_py")
        for name, text in PROBLEM.items():
            os.makedirs(os.path.dirname(os.path.join(problem, name)), exist_ok=True)
            with open(os.path.join(problem, name), "w") as f:
                f.write(text)
        if subprocess.run([PYTHON, "-c", "import numpy, pyopencl"], capture_output=True).returncode:
            self.skipTest("Debian's Python has no PyOpenCL; install python3-pyopencl")
        python = ["--python", PYTHON]
        first = self.regrade(problem, *python)
        self.assertIn("Running the problem gpumode_scale_py", first.stderr)
        good = self.report()["scale_py/solutions/correct/good.py"]
        self.assertIn(good["result"]["verdict"], RIGHT, good["result"]["reason"])
        self.assertIn("imports", good["note"])
        again = self.regrade(problem, *python)
        self.assertNotIn("Running the problem", again.stderr)
        self.assertIn("Nothing was left to grade", again.stdout)
        baseline = os.path.join(self.out, "tasks", "gpumode_scale_py", "baseline.cuda.py")
        tried = subprocess.run([PYTHON, "-c", TRY_BASELINE, baseline], capture_output=True, text=True)
        self.assertEqual(tried.returncode, 0, tried.stderr)

    def test_problems_side_by_side(self):
        """All problems of a source are run before it is read; what is wrong with one is told of that one."""
        sets = os.path.join(os.path.dirname(self.board), "problems")
        texts = {"same": {}, "other": {"task.py": "FACTOR = 3\n"},
                 "broken": {"reference.py": PROBLEM["reference.py"].replace("default_rng(seed)", "default_rng(1)")}}
        for folder, changes in texts.items():
            for name, text in {**PROBLEM, **changes}.items():
                os.makedirs(os.path.dirname(os.path.join(sets, folder, name)), exist_ok=True)
                with open(os.path.join(sets, folder, name), "w") as f:
                    f.write(text)
        with open(os.path.join(sets, "beta.yaml"), "w") as f:
            f.write("name: All\nproblems:\n" + "".join(f"  - {{directory: {name}, name: {name}}}\n" for name in texts))
        if subprocess.run([PYTHON, "-c", "import numpy, pyopencl"], capture_output=True).returncode:
            self.skipTest("Debian's Python has no PyOpenCL; install python3-pyopencl")
        plan = self.regrade(os.path.dirname(sets), "--plan", "--python", PYTHON)
        self.assertIn("3 of 3", plan.stderr)
        report = self.report()
        for name in texts:
            skip = report[f"beta/{name}/solutions/correct/good.py"].get("skip")
            self.assertEqual(skip and skip["code"], "inputs_fixed" if name == "broken" else None)
        again = self.regrade(os.path.dirname(sets), "--plan", "--python", PYTHON)
        self.assertIn("Running the problem gpumode_broken", again.stderr)
        self.assertNotIn("gpumode_same", again.stderr)

    def test_arena(self):
        task = os.path.join(self.board, "tasks", "triton2triton", "double")
        for name, text in ARENA_TASK.items():
            os.makedirs(os.path.dirname(os.path.join(task, name)), exist_ok=True)
            with open(os.path.join(task, name), "w") as f:
                f.write(text)
        self.regrade(self.board, "--plan", "--python", PYTHON)
        folder = os.path.join(self.out, "tasks", "arena_double")
        if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode:
            self.skipTest("Debian's Python has no PyTorch; install python3-torch")
        tried = subprocess.run([PYTHON, "-c", TRY_ARENA, folder], capture_output=True, text=True)
        self.assertEqual(tried.returncode, 0, tried.stderr)
        baseline = ["-c", "import runpy, sys; assert runpy.run_path(sys.argv[1])['custom_kernel']", os.path.join(folder, "baseline.cuda.py")]
        tried = subprocess.run([PYTHON, *baseline], capture_output=True, text=True)
        self.assertEqual(tried.returncode, 0, tried.stderr)

    def test_grading_and_going_on(self):
        self.put_board()
        result = self.regrade(self.board)
        self.assertIn("2 of 2  ", result.stderr)
        self.assertIn("kgrade regrade report", result.stdout)
        self.assertEqual(self.rows("SELECT count(*) FROM results"), [(2,)])  # of three entries that can be graded
        # Nothing is graded twice, whichever way one goes on; another reading finds what is new.
        self.regrade()
        self.regrade(self.board)
        self.put("new.c", "no C either\n")
        self.regrade(self.board)
        self.assertEqual(self.rows("SELECT count(*) FROM results"), [(3,)])
        lines = self.report()
        self.assertIn(lines["right.c"]["result"]["verdict"], RIGHT)
        self.assertEqual(lines["same.c"]["result"], lines["right.c"]["result"])
        self.assertEqual(lines["broken.c"]["result"]["reason"]["code"], "compile_failed")
        self.assertEqual(lines["broken.c"]["original"]["rank"], 1)
        self.assertEqual(lines["broken.c"]["original"]["value"], 0.5)
        self.assertEqual(lines["gone.c"]["skip"]["code"], "no_source")
        self.assertEqual(lines["new.c"]["state"], "graded")
        with open(os.path.join(self.out, "results.csv"), newline="") as f:
            table = {row["id"]: row for row in csv.DictReader(f)}
        self.assertEqual(table["broken.c"]["code"], "compile_failed")
        self.assertEqual(table["right.c"]["author"], "alice")
        self.assertEqual(len(table), 5)
        # Again from the recording, without the source.
        os.remove(os.path.join(self.board, "right.c"))
        self.regrade("--from-recordings")
        self.assertEqual(self.rows("SELECT count(*) FROM results WHERE round = 1"), [(1,)])
        # "unresolved" does not take the place of a better result.
        again = self.report()["right.c"]
        self.assertEqual(again["results"], 2)
        self.assertIn(again["result"]["verdict"], RIGHT)

    def test_leetgpu(self):
        self.put("vector_addition.cu", 'extern "C" void solve(const float* A, const float* B, float* C, int N) {}\n')
        self.put("reduction.cu", 'extern "C" void solve(const float* A) {}\n')
        plan = json.loads(self.regrade(self.board, "--plan", "--json").stdout)
        self.assertEqual(plan["sources"][0]["format"], "leetgpu")
        codes = {skipped["code"] for skipped in plan["skipped"]}
        self.assertIn("signature_differs", codes)
        self.assertLessEqual(codes, {"signature_differs", "unknown_language"})  # the latter where CUDA is not built in

    def start(self, env):
        return subprocess.Popen(
            [KGRADE, "regrade", self.board, "--out", self.out, *BRIEFLY],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **env},
        )  # fmt: skip

    def wait_for_results(self, n):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                if self.rows("SELECT count(*) FROM results")[0][0] >= n:
                    return
            except sqlite3.OperationalError:
                pass  # not there yet
            time.sleep(0.02)
        self.fail("nothing was graded")

    def put_many(self):
        """Candidates that do not compile take no time on the device; behind them come some that do, and are not waited for."""
        for i in range(MANY):
            self.put(f"a{i}.c", f"no C {i}\n")
        for i in range(SLOW):
            self.put(f"z{i}.c", f"// {i}\n{self.source}")

    def test_killed(self):
        self.put_many()
        marker = f"KGRADE_TEST={os.path.basename(os.path.dirname(self.out))}"
        before = set()
        for n in (2, MANY):
            process = self.start(dict([marker.split("=")]))
            self.wait_for_results(n)
            process.kill()
            process.communicate(timeout=PATIENCE_S)
            kept = set(self.rows("SELECT number, candidate FROM results"))
            self.assertLessEqual(before, kept)  # nothing is lost
            before = kept
        self.assertLess(len(before), MANY + SLOW)
        self.regrade("--only", "a*")
        results, candidates = self.rows("SELECT count(*), count(DISTINCT candidate) FROM results")[0]
        self.assertEqual(results, candidates)  # nothing is graded twice
        self.assertGreaterEqual(results, MANY)
        end = time.monotonic() + PATIENCE_S
        while processes_of(marker) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(processes_of(marker), [])  # what a killed one had started is gone, too

    def test_interrupted(self):
        self.put_many()
        process = self.start({})
        self.wait_for_results(MANY)
        busy = run("regrade", "--out", self.out, *BRIEFLY)
        self.assert_exit(busy, 2)
        self.assertIn("[regrade_busy]", busy.stderr)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertIn("the same command goes on", out)
        self.assertIn("Stopped", err)
        graded = self.rows("SELECT count(*) FROM results")[0][0]
        self.assertLess(graded, MANY + SLOW)
        plan = json.loads(self.regrade("--plan", "--json").stdout)
        self.assertEqual(plan["candidates"]["total"], MANY + SLOW)
        self.assertEqual(plan["candidates"]["to_do"], MANY + SLOW - graded)

    def test_usage(self):
        for arguments in (
            ["regrade", "--out", self.out],
            ["regrade", "/nowhere", "--out", self.out],
            ["regrade", EXAMPLE, "--out", self.out],
            ["regrade", self.board, "--out", self.out, "--format", "what"],
            ["regrade", self.board, "--out", self.out, "--retry", "all"],
            ["regrade", self.board, "--out", self.out, "--sample", "0"],
            ["regrade", self.board, "--out", self.out, "--retry", "infrastructure", "--from-recordings"],
            ["regrade", self.board, "--out", self.out, "--from-recordings", "--server", "http://127.0.0.1:1"],
            ["regrade", "report", self.board],
            ["regrade", "report"],
        ):
            self.assert_exit(run(*arguments), 2)


if __name__ == "__main__":
    main()
