"""Candidates in Python: how files and interpreters are named, and what is said of them.  tests/attacks/python has the verdicts."""

import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from common import BRIEFLY, CACHE, DOUBTS, HERE, MORE_SAMPLES, SOURCE_DIR, Case, main, run

PYTHON = "/usr/bin/python3"
EXAMPLE = os.path.join(SOURCE_DIR, "deploy", "example", "vector_add.py")
TASK = ("--task", "vector_add")


def check_of(python):
    """What the doctor says of the interpreter."""
    checks = json.loads(run("doctor", "--json", "--python", python).stdout)["checks"]
    return [c for c in checks if c["name"].startswith("python: ")]


class Rehearsal(Case):
    """What one leaves is unpacked elsewhere as it was."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.boot, self.rehearse = load("boot"), load("rehearse", "devices/cuda")
        self.move(os.path.join(folder.name, "there"))
        self.kernel = self.write(".triton/cache/KEY/kernel.cubin", b"machine code")
        self.object = self.write(".cache/torch_extensions/py3/add/add.o", bytes(range(256)))
        os.utime(self.object, ns=(10**18, 10**18 + 1))

    def move(self, home):
        self.boot.HOME = home
        self.boot.CACHES = [os.path.join(home, ".triton", "cache"), os.path.join(home, ".cache", "torch_extensions")]

    def write(self, name, data):
        path = os.path.join(self.boot.HOME, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def found(self):
        return {os.path.relpath(os.path.join(folder, name), self.boot.HOME) for folder, _, names in os.walk(self.boot.HOME) for name in names}

    def test_files_and_their_times(self):
        packed = self.rehearse.pack(self.rehearse.files(self.boot.CACHES), self.boot)
        before = self.found()
        self.move(os.path.join(os.path.dirname(self.boot.HOME), "here"))
        self.boot.plant(packed)
        self.assertEqual(self.found(), before)
        path = os.path.join(self.boot.HOME, ".cache/torch_extensions/py3/add/add.o")
        self.assertEqual(os.stat(path).st_mtime_ns, 10**18 + 1)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), bytes(range(256)))

    def test_a_lock_stays_behind(self):
        lock = self.write(".cache/torch_extensions/py3/add/lock", b"")
        self.assertNotIn(b"add/lock", self.rehearse.pack({lock, self.object}, self.boot))

    def test_what_the_compiler_says(self):
        error = RuntimeError("Error building extension 'add': [1/2] nvcc -c add.cu\nadd.cu(3): error: missing closing quote\nninja: build stopped.\n")
        self.assertTrue(self.rehearse.is_of_compiler(error))
        self.assertFalse(self.rehearse.is_of_compiler(RuntimeError("No CUDA GPUs are available")))
        self.assertFalse(self.rehearse.is_of_compiler(RuntimeError()))
        said = self.rehearse.tell_compiler(error.args[0], self.boot)
        self.assertIn("Error building extension 'add': add.cu(3): error: missing closing quote", said)

    def test_names_that_lead_elsewhere(self):
        outside = self.write(".bashrc", b"no")
        packed = self.rehearse.pack({outside}, self.boot)
        self.move(os.path.join(os.path.dirname(self.boot.HOME), "here"))
        self.boot.plant(packed)
        self.boot.plant(packed.replace(b".bashrc", b"../../x"))
        self.assertEqual(self.found(), set())

    def test_what_is_cut_off(self):
        packed = self.rehearse.pack({self.kernel}, self.boot)
        self.move(os.path.join(os.path.dirname(self.boot.HOME), "here"))
        self.boot.plant(packed[:10])
        self.assertEqual(self.found(), set())


class Python(Case):
    @classmethod
    def setUpClass(cls):
        if not any("pyopencl" in c["detail"] for c in check_of(PYTHON)):
            raise unittest.SkipTest("Debian's Python has no PyOpenCL; install python3-pyopencl")

    def grade(self, files, *more):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                with open(os.path.join(folder, name), "w") as f:
                    f.write(text)
            return run("grade", *files, *TASK, "--python", PYTHON, *BRIEFLY, *more, cwd=folder)

    def test_example(self):
        text = run("grade", EXAMPLE, *TASK, "--python", PYTHON, "--json", *BRIEFLY).stdout
        result = json.loads(text)
        self.assertIn(result["verdict"], {"accepted", *DOUBTS}, result["reason"])
        self.assertEqual(result["candidate"]["language"], "python")
        python = result["environment"]["python"]
        self.assertEqual(python["name"], "python3")
        self.assertTrue(python["version"].startswith("3."))
        self.assertIn("pyopencl", python["frameworks"])

    def test_several_files(self):
        files = {
            "candidate.py": "import helper\n\n\ndef vector_add(a, b, c, n, queue):\n    helper.help(n)\n",
            "helper.py": "def help(n):\n    raise ValueError('not yet')\n",
        }
        result = self.grade(files)
        self.assert_exit(result, 1)
        self.assertIn("ValueError: not yet (helper.py, line 2, in help)", result.stdout)
        self.assertIn('File "candidate.py", line 5, in vector_add', result.stdout)

    def test_files_that_import_each_other(self):
        """A helper that imports the file it belongs to gets the module that is graded."""
        files = {
            "submission.py": "calls = []\n\n\ndef vector_add(a, b, c, n, queue):\n    import helper\n    helper.count()\n",
            "helper.py": "import submission\n\n\ndef count():\n    submission.calls.append(1)\n    import candidate\n"
            "    raise ValueError(f'{len(candidate.calls)} seen')\n",
        }
        self.assertIn("ValueError: 1 seen (helper.py, line 7, in count)", self.grade(files).stdout)

    def test_processes_of_its_own(self):
        text = (
            "import multiprocessing\n\n\ndef double(n):\n    return 2 * n\n\n\ndef vector_add(a, b, c, n, queue):\n"
            "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
            "        raise ValueError(f'{pool.map(double, [21])} came back')\n"
        )
        self.assertIn("ValueError: [42] came back", self.grade({"candidate.py": text}).stdout)

    def test_a_profile_of_what_raises(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "raises.py")
            with open(path, "w") as f:
                f.write("def vector_add(a, b, c, n, queue):\n    raise ValueError('not yet')\n")
            result = run("profile", path, *TASK, "--python", PYTHON, *HERE)
        self.assert_exit(result, 1)
        self.assertIn("ValueError: not yet (candidate.py, line 2", result.stdout)

    def test_several_files_without_a_main_one(self):
        result = self.grade({"one.py": "x = 1\n", "two.py": "y = 2\n"})
        self.assert_exit(result, 1)
        self.assertIn("candidate.py", result.stdout)

    def test_no_interpreter(self):
        result = run("grade", EXAMPLE, *TASK, *BRIEFLY, "--python", "")
        self.assert_exit(result, 2)
        self.assertIn("no_python", result.stderr)
        result = run("grade", EXAMPLE, *TASK, *BRIEFLY, "--python", PYTHON, "--language", "python:jax")
        self.assert_exit(result, 2)
        self.assertIn("no_python", result.stderr)

    def test_an_interpreter_that_is_none(self):
        for wrong in ("python3", "/nowhere/bin/python3"):
            result = run("grade", EXAMPLE, *TASK, *BRIEFLY, "--python", wrong)
            self.assert_exit(result, 2)
            self.assertIn("python_invalid", result.stderr)
        (check,) = check_of("/bin/true")
        self.assertFalse(check["ok"])
        self.assertIn("does not run as Python", check["detail"])


def frameworks():
    """Of the interpreter; empty: it does not serve the device."""
    return "".join(c["detail"] for c in check_of(PYTHON))


def load(name, folder="python"):
    """A module of grader/python: "problem" is the judge's Python half, "boot" the recorder's."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(SOURCE_DIR, "grader", folder, f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Place:
    """Where tensors are made while it is entered, as torch.device is one."""

    def __init__(self):
        self.is_entered = False

    def __enter__(self):
        self.is_entered = True

    def __exit__(self, *error):
        self.is_entered = False


FOREIGN = os.path.join(SOURCE_DIR, "tests", "foreign")
WITH_PYTHON = ("--python", PYTHON, "--isolation", "reduced")


class Foreign(Case):
    """Problems whose inputs and reference are in Python."""

    @classmethod
    def setUpClass(cls):
        if "pyopencl" not in frameworks():
            raise unittest.SkipTest("Debian's Python has no PyOpenCL; install python3-pyopencl")

    def describe(self, name, changes=(), how=WITH_PYTHON, env=None):
        """A copy of the problem with texts of its files replaced; what describe-task says of it, and task.json."""
        with tempfile.TemporaryDirectory() as parent:
            folder = shutil.copytree(os.path.join(FOREIGN, name), os.path.join(parent, name), ignore=lambda *_: ["task.json"])
            for file, before, after in changes:
                path = os.path.join(folder, file)
                with open(path) as f:
                    text = f.read()
                self.assertIn(before, text)
                with open(path, "w") as f:
                    f.write(text.replace(before, after))
            result = run("describe-task", folder, *how, env=env)
            path = os.path.join(folder, "task.json")
            if not os.path.exists(path):
                return result, None
            with open(path) as f:
                return result, json.load(f)

    def test_description(self):
        result, task = self.describe("blend_rows", how=("--isolation", "reduced"), env={"PATH": os.path.dirname(PYTHON)})
        self.assert_exit(result, 0)
        with open(os.path.join(FOREIGN, "blend_rows", "task.json")) as f:
            self.assertEqual(task, json.load(f))

    def test_what_cannot_be_a_task(self):
        reference, problem, drawing = "reference.py", "problem.json", "drawing.py"
        for code, changes in {
            "inputs_fixed": [(drawing, "default_rng(seed)", "default_rng(1)")],
            "inputs_random": [(drawing, "default_rng(seed)", "default_rng()")],
            "answers_fixed": [(reference, "    output[...] =", "    output[...] = 3 + 1e-7 * x  #")],
            "reference_random": [(reference, "* x + y", "* x + numpy.random.default_rng().random()")],
            "reference_failed": [(reference, "    output[...]", "    raise ValueError('not today')\n    output[...]")],
            "inputs_unsupported": [(reference, '{"factor": 2.0}', "object()")],
            "task_invalid": [(problem, '"name": "blend_rows"', '"name": "Blend Rows"')],
        }.items():
            with self.subTest(code):
                result, task = self.describe("blend_rows", changes)
                self.assert_exit(result, 1)
                self.assertIn(f"[{code}]", result.stderr)
                self.assertIsNone(task)
                if code == "reference_failed":
                    self.assertIn("ValueError: not today (reference.py, line 11, in blend)", result.stderr)

    def test_memory_that_others_have(self):
        """Several problems share a card: one that finds no memory waits for others to give theirs back."""
        fails = "    sys.tries = getattr(sys, 'tries', 0) + 1\n    if sys.tries < 3:\n        raise RuntimeError('out of memory')\n    output[...]"
        changes = [("reference.py", "import numpy\n", "import sys\nimport numpy\n"), ("reference.py", "    output[...]", fails)]
        result, task = self.describe("blend_rows", changes)
        self.assert_exit(result, 0)
        self.assertIsNotNone(task)

    def test_mistakes_in_problem_json(self):
        for says, changes in {
            '"inputs" is missing': ('"inputs": "make_inputs",', ""),
            'the key "chek" is not known': ('"check"', '"chek"'),
            '"seeds" is not from 1': ('"form"', '"seeds": 0, "form"'),
            '"check" is not a text': ('"is_blend"', "true"),
            'no number "relative"': ('"relative": 1e-5', '"relative": "1e-5"'),
            'no array "benchmark"': ('"benchmark": [{"rows": 256, "cols": 257}]', '"benchmark": []'),
            '"form" is none of': ('"data"', '"date"'),
        }.items():
            with self.subTest(says):
                result, _ = self.describe("blend_rows", [("problem.json", *changes)])
                self.assert_exit(result, 1)
                self.assertIn(says, result.stderr)
                self.assertIn("[problem_invalid]", result.stderr)

    def test_problems_that_misbehave(self):
        data = '{"factor": 2.0}'
        for says, changes in {
            "ended its process (status 3). [reference_failed]": ("    output[...]", "    __import__('os')._exit(3)\n    output[...]"),
            "E: (it does not say)": ("    output[...]", "    class E(Exception):\n        __str__ = None\n    raise E\n    output[...]"),
            "sent something that is not a message. [reference_failed]": (
                "    output[...]", "    import os\n    for i in range(3, 64):\n        try:\n            os.write(i, b' ' * 99)\n"
                "        except OSError:\n            pass\n    os._exit(0)\n    output[...]"),
            "[inputs_unsupported]": (data, '"a\\0b"'),
            "[inputs_fixed]": ("    return draw", "    return 1, 2, {'factor': 3}, numpy.empty((rows, cols), 'float32')\n    return draw"),
            "axes lie in another order. [inputs_unsupported]": ("    output[...]", "    y += 1\n    return y\n    output[...]"),
        }.items():
            with self.subTest(says):
                result, task = self.describe("blend_rows", [("reference.py", *changes)])
                self.assert_exit(result, 1)
                self.assertIn(says, result.stderr)
                self.assertIsNone(task)

    def test_a_part_of_an_input_as_the_output(self):
        _, task = self.describe("blend_rows", [
            ("reference.py", "    output[...]", "    return x[:2]\n    output[...]"), ("problem.json", '  "workspace_bytes": 1048576,\n', "")])
        self.assertEqual([(p["kind"], p["shape"]) for p in task["parameters"][:5] if p["name"] == "out0"], [("out", ["2", "n1"])])
        self.assertEqual(task["workspace_bytes"], 2 * 4 * 2 * 257 + 2**20)  # for the outputs of two calls

    def test_answers_of_checks(self):
        problem = load("problem")
        for answer in (True, (True, "close"), "", 1):
            self.assertTrue(problem.is_right(answer))
        for answer in (False, (False, ""), "far off", 0, ("far off",)):
            self.assertFalse(problem.is_right(answer))
        for answer in (None, (), [True], 1.0, object()):
            with self.assertRaises(problem.Failure):
                problem.is_right(answer)

    def test_an_output_in_another_shape(self):
        """That of the reference is as good as that of the array that was passed; no other is."""
        boot, delivered = load("boot"), []
        recorder = boot.Recorder(None, None)

        class Array:
            def __init__(self, *shape):
                self.shape = shape

            def reshape(self, shape):
                return Array(*shape)

        class Device:
            @staticmethod
            def deliver(output, returned):
                delivered.append((output.shape, getattr(returned, "shape", None)))
                return None if output.shape == delivered[-1][1] else "it is not"

        recorder.device, recorder.outputs = Device, [Array(1)]
        for shapes, returned, right in (
                ([[]], Array(), True), ([[]], Array(1), True), ([[]], Array(2), False), ([[]], 1.5, False),
                ([None], Array(1), True), ([None], Array(), False), ([], Array(1), True)):
            recorder.shapes = shapes
            if right:
                recorder.deliver(returned)
            else:
                self.assertRaises(boot.Failure, recorder.deliver, returned)
        self.assertEqual(delivered[0], ((), ()))

    def test_where_inputs_are_made(self):
        """On a card from the first call on, or never there."""
        problem, card, calls = load("problem"), Place(), []
        generator = problem.Problem.__new__(problem.Problem)
        generator.is_placed, generator.card = False, card

        def make(size, fails_there=False):
            calls.append((size, card.is_entered))
            if size < 0 or card.is_entered and fails_there:
                raise ValueError("not there")
            return size

        def made(*values):
            return generator.made(1, dict(zip(("size", "fails_there"), values)))

        generator.make = make
        self.assertEqual(made(1), 1)
        with self.assertRaises(problem.Failure) as raised:
            made(2, True)
        self.assertEqual((raised.exception.code, calls), ("reference_failed", [(1, True), (2, True)]))
        self.assertIn("ValueError: not there", raised.exception.message)
        calls.clear()
        generator.is_placed = False
        self.assertEqual([made(3, True), made(4)], [3, 4])
        self.assertEqual(calls, [(3, True), (3, False), (4, False)])
        with self.assertRaises(problem.Failure):
            made(-1)

    def test_buffers_on_the_device(self):
        """In an interpreter that has arrays."""
        result = subprocess.run([PYTHON, os.path.join(SOURCE_DIR, "tests", "cli", "device_buffers.py"), SOURCE_DIR], capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_an_output_whose_contents_count(self):
        _, task = self.describe("blend_rows", [
            ("reference.py", 'numpy.empty((rows, cols), "float32")', "draw(seed + 2, rows, cols)"),
            ("reference.py", "    output[...] =", "    output[...] +="),
            ("problem.json", '"check": "is_blend",', ""),
        ])
        self.assertEqual([p["kind"] for p in task["parameters"][:3]], ["in", "in", "inout"])

    def test_an_output_that_the_reference_does_not_write(self):
        _, task = self.describe("blend_rows", [
            ("reference.py", "    output[...] = settings[\"factor\"] * x + y\n    return output",
             "    return (settings[\"factor\"] * x + y).astype(\"float64\")[None]"),
            ("problem.json", '"form"', '"output": "last",\n  "seeds": 9,\n  "form"'),
        ])
        self.assertEqual([(p["kind"], p.get("dtype")) for p in task["parameters"][:3]], [("in", "f32"), ("in", "f32"), ("out", "f32")])
        self.assertEqual(task["python"]["variants"][0]["outputs"], {"buffer": "in2", "shape": [1, 3, 5]})
        self.assertEqual(task["python"]["seeds"], 9)

    def grade(self, name, *changes):
        """The result; what a busy machine was the cause of is tried again."""
        for samples in ("20", *MORE_SAMPLES):
            result = self.grade_once(name, samples, changes)
            if result["verdict"] != "infrastructure_error" or not result["reason"]["retryable"]:
                break
        return result

    def grade_once(self, name, samples, changes):
        with open(os.path.join(FOREIGN, name, "baseline.opencl.py")) as f:
            text = f.read()
        for before, after in changes:
            self.assertIn(before, text)
            text = text.replace(before, after)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "candidate.py")
            with open(path, "w") as f:
                f.write(text)
            return json.loads(run("grade", path, "--task", name, "--tasks", FOREIGN, "--json", *WITH_PYTHON, "--cache", CACHE.name,
                                  "--max-samples", samples).stdout)

    def test_data(self):
        result = self.grade("blend_rows")
        self.assertIn(result["verdict"], {"accepted", *DOUBTS}, result["reason"])
        self.assertTrue(all(case["correctness"] for case in result["cases"]), result["cases"])

    def test_model(self):
        if "torch" not in frameworks():
            self.skipTest("Debian's Python has no PyTorch; install python3-torch")
        _, task = self.describe("gated_layer")
        with open(os.path.join(FOREIGN, "gated_layer", "task.json")) as f:
            self.assertEqual(task, json.load(f))
        result = self.grade("gated_layer")
        self.assertIn(result["verdict"], {"accepted", *DOUBTS}, result["reason"])
        # The weights are those of the reference, or the answer is wrong.
        result = self.grade("gated_layer", ("torch.rand(features)", "torch.rand(features + 1)[1:]"))
        self.assertEqual((result["verdict"], result["reason"]["code"]), ("wrong_answer", "wrong_values"))

    def test_no_interpreter(self):
        result = run("describe-task", os.path.join(FOREIGN, "blend_rows"), "--isolation", "reduced", "--python", "")
        self.assert_exit(result, 1)
        self.assertIn("[no_python]", result.stderr)

    def test_a_device_without_python(self):
        result = run("describe-task", os.path.join(FOREIGN, "blend_rows"), *WITH_PYTHON, "--device", "hip")
        self.assert_exit(result, 1)
        self.assertIn("[device_without_python]", result.stderr)


if __name__ == "__main__":
    main()
