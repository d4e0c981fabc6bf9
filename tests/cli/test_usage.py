"""The command line itself: help, mistakes, exit statuses."""

import subprocess
import tempfile

from common import EXAMPLE, KGRADE, Case, main, run

COMMANDS = ["grade", "tasks", "show", "new", "check-task", "describe-task", "recording show", "replay", "doctor",
            "db backup", "db check"]


class Help(Case):
    def test_every_command_explains_itself(self):
        overview = self.run_ok("--help").stdout
        for command in COMMANDS:
            self.assertIn(f"\n  {command} ", overview)
            text = self.run_ok(*command.split(), "--help").stdout
            self.assertTrue(text.startswith(f"Usage: kgrade {command}"), text)
            self.assertIn("Exit status:", text)

    def test_help_fits_a_terminal(self):
        for command in ["", *COMMANDS]:
            for line in self.run_ok(*command.split(), "--help").stdout.splitlines():
                self.assertLessEqual(len(line), 96, line)

    def test_version(self):
        self.assertRegex(self.run_ok("--version").stdout, r"^kgrade \d+\.\d+\.\d+\n$")


class Mistakes(Case):
    def assert_mistake(self, arguments, *parts):
        result = run(*arguments)
        self.assert_exit(result, 2)
        self.assertEqual(result.stdout, "")
        for part in parts:
            self.assertIn(part, result.stderr)

    def test_commands(self):
        self.assert_mistake([], "kgrade --help")
        self.assert_mistake(["grad"], "did you mean grade?", "kgrade --help")
        self.assert_mistake(["zzzzzz"], "There is no command zzzzzz.")
        self.assert_mistake(["recording"], "kgrade recording show")
        self.assert_mistake(["recording", "shw"], "did you mean recording show?")
        self.assert_mistake(["db"], "kgrade db backup, kgrade db check")
        self.assert_mistake(["db", "chek"], "did you mean db check?")
        self.assert_mistake(["db", "backup", "x"], "db backup needs DATABASE FILE")

    def test_options(self):
        self.assert_mistake(["--versoin"], "did you mean --version?")
        self.assert_mistake(["grade", "--jsno"], "did you mean --json?", "kgrade grade --help")
        self.assert_mistake(["tasks", "--precision", "1"], "There is no option --precision for tasks")
        self.assert_mistake(["grade", "-Z"], "There is no option -Z")
        self.assert_mistake(["grade", "-t"], "--task needs a value")
        self.assert_mistake(["grade", "--json=yes"], "--json takes no value")
        self.assert_mistake(["recording", "show", "x", "--json", "--dot"], "one of --json and --dot")

    def test_values(self):
        grade = ["grade", EXAMPLE, "--task", "vector_add"]
        for value in ["", "0", "-1", "1", "nan", "x", "0.5x", "200%"]:
            self.assert_mistake([*grade, "--precision", value], "--precision takes a fraction")
        for value in ["", "0", "-1", "1.5", "x", "4294967296", "99999999999999999999999"]:
            self.assert_mistake([*grade, "--max-samples", value], "--max-samples takes a whole number")
        self.assert_mistake([*grade, "--isolation", "ful"], "did you mean full?")
        for value in ["", "0", "-1", "1.5", "x", "17", "99999999999999999999999"]:
            self.assert_mistake(["regrade", "--python-spares", value], "--python-spares takes a whole number from 1 to 16")
        self.assert_mistake(["regrade", "--python-spares", "16", "--server", "http://127.0.0.1:1"], "is for grading on this machine")
        self.assert_mistake([*grade, "--python-spares", "2"], "There is no option --python-spares")

    def test_arguments(self):
        self.assert_mistake(["grade"], "")
        self.assert_mistake(["grade", EXAMPLE], "--task TASK")
        self.assert_mistake(["grade", EXAMPLE, "more", "--task", "x"], "file_unreadable")
        self.assert_mistake(["show"], "show needs TASK")
        self.assert_mistake(["tasks", "x"], "x was not expected")

    def test_files(self):
        self.assert_mistake(["grade", "/nonexistent.c", "--task", "vector_add"], "file_unreadable")
        self.assert_mistake(["grade", "/", "--task", "vector_add"], "file_unreadable")
        with tempfile.NamedTemporaryFile() as large:
            large.truncate((1 << 20) + 1)
            self.assert_mistake(["grade", large.name, "--task", "vector_add"], "file_too_large")
        result = run("grade", "-", "--task", "vector_add", stdin="x" * ((1 << 20) + 1))
        self.assert_exit(result, 2)
        self.assertIn("file_too_large", result.stderr)

    def test_output_that_cannot_be_written_is_no_success(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run(
                [KGRADE, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
            )
        self.assertEqual(result.returncode, 3)
        self.assertIn("Cannot write the output", result.stderr)


if __name__ == "__main__":
    main()
