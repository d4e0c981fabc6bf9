"""tasks, show, new, check-task, doctor."""

import json
import os
import shutil
import tempfile

from common import BRIEFLY, TASKS, Case, main, run

VECTOR_ADD = os.path.join(TASKS.name, "vector_add")


class Tasks(Case):
    def test_list(self):
        text = self.run_ok("tasks").stdout
        names = [task["name"] for task in self.run_json("tasks", "--json")["tasks"]]
        self.assertIn("vector_add", names)
        for name in names:
            self.assertIn(name, text)

    def test_folder_of_ones_own(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(VECTOR_ADD, os.path.join(folder, "vector_add"))
            for arguments in (["--tasks", folder, "tasks"], ["tasks", "--tasks", folder]):
                tasks = self.run_json(*arguments, "--json")["tasks"]
                self.assertEqual([task["name"] for task in tasks], ["vector_add"])
        result = run("--tasks", folder, "tasks")  # gone by now
        self.assert_exit(result, 2)
        self.assertIn("[tasks_unreadable]", result.stderr)

    def test_show(self):
        task = self.run_json("show", "vector_add", "--json")
        self.assertEqual(task["name"], "vector_add")
        text = self.run_ok("show", "vector_add").stdout
        self.assertIn(task["statement"].strip().splitlines()[0], text)
        self.assertIn("kgrade new vector_add", text)

    def test_unknown_task(self):
        for command in ("show", "new"):
            result = run(command, "vector_ad")
            self.assert_exit(result, 2)
            self.assertIn("[unknown_task]", result.stderr)


class New(Case):
    def test_prints_or_writes_the_same(self):
        source = self.run_ok("new", "vector_add").stdout
        self.assertIn("vector_add(", source)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.c")
            self.assertEqual(self.run_ok("new", "vector_add", "-o", path).stdout, "")
            with open(path) as f:
                self.assertEqual(f.read(), source)

    def test_the_name_of_the_file_chooses_the_language(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, words in (("a.py", "def vector_add("), ("a.hip", "#include <hip/hip_runtime.h>"), ("a.cu", "<cuda_runtime.h>")):
                path = os.path.join(folder, name)
                self.run_ok("new", "vector_add", "--device", "cuda", "-o", path)
                with open(path) as f:
                    self.assertIn(words, f.read())

    def test_never_overwrites(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.c")
            with open(path, "w") as f:
                f.write("precious")
            for target in (path, os.path.join(folder, "link.c")):
                if target != path:
                    os.symlink(os.path.join(folder, "nowhere.c"), target)
                result = run("new", "vector_add", "-o", target)
                self.assert_exit(result, 2)
                self.assertIn("[file_exists]", result.stderr)
            with open(path) as f:
                self.assertEqual(f.read(), "precious")
            self.assertFalse(os.path.exists(os.path.join(folder, "nowhere.c")))

    def test_unknown_device(self):
        result = run("new", "vector_add", "--device", "abacus")
        self.assert_exit(result, 2)
        self.assertIn("[unknown_device]", result.stderr)


class CheckTask(Case):
    def test_good(self):
        result = self.run_accepted("check-task", VECTOR_ADD, *BRIEFLY)
        self.assertIn("fit for use", result.stdout)

    def test_bad(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "vector_add")
            shutil.copytree(VECTOR_ADD, copy)
            with open(os.path.join(copy, "baseline.opencl.c"), "w") as f:
                f.write("void vector_add(void) {}\n")
            report = self.run_json("check-task", copy, *BRIEFLY, "--json", status=1)
            self.assertTrue(report["findings"])
            result = run("check-task", copy, *BRIEFLY)
            self.assert_exit(result, 1)
            self.assertIn("not fit for use", result.stdout)


class Doctor(Case):
    def test_every_line_that_is_not_ok_has_a_fix(self):
        result = run("doctor", "--json")
        self.assertIn(result.returncode, (0, 1))
        report = json.loads(result.stdout)
        entries = [e for section in report.values() if isinstance(section, list) for e in section]
        self.assertGreater(len(entries), 5)
        for entry in entries:
            self.assertIn("name", entry)
            self.assertIn("detail", entry)
            if not entry["ok"]:
                self.assertTrue(entry.get("fix"), entry)
        text = run("doctor").stdout
        for entry in entries:
            self.assertIn(entry["name"], text)
        self.assertIn("ready to grade" if result.returncode == 0 else "not ready", text)


if __name__ == "__main__":
    main()
