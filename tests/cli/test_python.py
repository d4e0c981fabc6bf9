"""Candidates in Python: how files and interpreters are named, and what is said of them.  tests/attacks/python has the verdicts."""

import json
import os
import tempfile
import unittest

from common import BRIEFLY, DOUBTS, HERE, SOURCE_DIR, Case, main, run

PYTHON = "/usr/bin/python3"
EXAMPLE = os.path.join(SOURCE_DIR, "deploy", "example", "vector_add.py")
TASK = ("--task", "vector_add")


def check_of(python):
    """What the doctor says of the interpreter."""
    checks = json.loads(run("doctor", "--json", "--python", python).stdout)["checks"]
    return [c for c in checks if c["name"].startswith("python: ")]


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


if __name__ == "__main__":
    main()
