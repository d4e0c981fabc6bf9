"""What the tests of the kgrade program share: running it, and a check that names itself."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

KGRADE = os.environ["KGRADE"]
SOURCE_DIR = os.environ["KGRADE_SOURCE_DIR"]
EXAMPLE = os.path.join(SOURCE_DIR, "deploy", "example", "vector_add.c")
TIMEOUT_S = 300  # only what hangs takes longer, on any machine

# Sampling small cases briefly is enough where the figures are not the point; what has been compiled once need not be again.
CACHE = tempfile.TemporaryDirectory(prefix="kgrade-test-")
SMALL_CASES = {
    "vector_add": {
        "correctness": [{"n": 1}, {"n": 31}, {"n": 65537}],
        "benchmark": [{"n": 65536}, {"n": 262144}],
        "hidden": [{"count": 2, "n": [1, 100000]}],
    },
    "softmax": {
        "correctness": [{"rows": 7, "cols": 33}],
        "benchmark": [{"rows": 64, "cols": 256}],
    },
    "matmul": {
        "correctness": [{"m": 33, "n": 17, "k": 61}],
        "benchmark": [{"m": 128, "n": 128, "k": 128}],
    },
}


def make_small_tasks(folder):
    """The project's tasks with other cases, below the folder."""
    for name, cases in SMALL_CASES.items():
        copy = shutil.copytree(os.path.join(SOURCE_DIR, "tasks", name), os.path.join(folder, name))
        path = os.path.join(copy, "task.json")
        with open(path) as f:
            task = json.load(f)
        task["cases"] = cases
        with open(path, "w") as f:
            json.dump(task, f)


TASKS = tempfile.TemporaryDirectory(prefix="kgrade-test-tasks-")
make_small_tasks(TASKS.name)
HERE = ["--isolation", "reduced", "--cache", CACHE.name, "--tasks", TASKS.name]
BRIEFLY = ["--max-samples", "20", *HERE]


def run(*arguments, stdin=None, env=None, cwd=None):
    """Runs kgrade without a terminal; returns what subprocess.run does, with text."""
    return subprocess.run(
        [KGRADE, *arguments],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env={**os.environ, **(env or {})},
        cwd=cwd,
    )


def processes_of(marker):
    """Processes whose environment holds the marker: those that a run of kgrade started."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if marker.encode() in f.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


# Doubts about the times, not about the candidate: a machine that is busy with other things can cause them.
DOUBTS = {"suspect", "unresolved"}
# What is in doubt is sampled longer and longer.
MORE_SAMPLES = ("100", "400", "400")


class Case(unittest.TestCase):
    maxDiff = None

    def assert_exit(self, result, status):
        self.assertEqual(
            result.returncode, status, f"\nstdout: {result.stdout}\nstderr: {result.stderr}"
        )

    def run_ok(self, *arguments, **options):
        result = run(*arguments, **options)
        self.assert_exit(result, 0)
        return result

    def run_accepted(self, *arguments, **options):
        """Runs a grade that must be accepted; tries again when the machine was too busy to tell."""
        result = run(*arguments, **options)
        for samples in MORE_SAMPLES:
            words = result.stdout.lower()
            if result.returncode != 1 or not any(doubt in words for doubt in DOUBTS):
                self.assert_exit(result, 0)
                return result
            brief = "--max-samples" in arguments
            result = run(*arguments, *(["--max-samples", samples] if brief else []), **options)
        self.skipTest(f"the machine is too busy to time anything: {result.stdout}")

    def run_json(self, *arguments, status=0, **options):
        result = run(*arguments, **options)
        self.assert_exit(result, status)
        return json.loads(result.stdout)


def main():
    # Silence is for ctest: what fails prints itself.
    program = unittest.main(exit=False)
    sys.exit(0 if program.result.wasSuccessful() else 1)
