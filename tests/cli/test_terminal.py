"""On a terminal: the moving line, colours, and Ctrl-C."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import uuid

from common import BRIEFLY, EXAMPLE, KGRADE, SOURCE_DIR, TIMEOUT_S, Case, main, processes_of

PYTHON = "/usr/bin/python3"
GRADE = ["grade", EXAMPLE, "--task", "vector_add", *BRIEFLY]


class Terminal:
    """kgrade with a terminal of its own, in a session of its own."""

    def __init__(self, arguments, env=None):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [KGRADE, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "TERM": "xterm", **(env or {})},
            start_new_session=True,
        )
        os.close(slave)
        self.text = ""

    def read_until(self, pattern=None):
        """Reads until the pattern appears, or to the end."""
        deadline = time.monotonic() + TIMEOUT_S
        while not (pattern and re.search(pattern, self.text)):
            if time.monotonic() > deadline:
                raise TimeoutError(self.text)
            if not select.select([self.master], [], [], 1)[0]:
                continue
            try:
                data = os.read(self.master, 65536)
            except OSError:  # EIO: the other side is closed
                data = b""
            if not data:
                break
            self.text += data.decode(errors="replace")
        return self.text

    def wait(self):
        self.read_until()
        os.close(self.master)
        return self.process.wait(TIMEOUT_S)


class Progress(Case):
    def test_line_is_drawn_and_wiped(self):
        terminal = Terminal(GRADE, {"NO_COLOR": ""})
        self.assertIn(terminal.wait(), (0, 1), terminal.text)  # the times are no matter here
        self.assertRegex(terminal.text, r"\r\033\[K.*case \d+ of \d+.*\d\.\d s")
        self.assertRegex(terminal.text, r"\r\033\[K\033\[1m\033\[3\dm[A-Z ]+\033\[0m  score")

    def test_no_colour(self):
        terminal = Terminal(GRADE, {"NO_COLOR": "1"})
        self.assertIn(terminal.wait(), (0, 1), terminal.text)
        self.assertNotRegex(terminal.text, r"\033\[\d*m")

    def test_usage_error_on_a_terminal(self):
        terminal = Terminal(["grade", EXAMPLE, "--task", "vector_ad", *BRIEFLY])
        self.assertEqual(terminal.wait(), 2, terminal.text)


class Interrupt(Case):
    def assert_stopped(self, stop, command, until, says):
        """Stopped when the line shows `until`, it says so, and nothing of it is left."""
        with tempfile.TemporaryDirectory() as folder:
            marker = f"KGRADE_TEST_RUN={uuid.uuid4()}"
            name, value = marker.split("=")
            terminal = Terminal(command, {name: value, "TMPDIR": folder})
            terminal.read_until(until)
            stop(terminal)
            self.assertEqual(terminal.wait(), -signal.SIGINT, terminal.text)
            self.assertIn(says, terminal.text)
            deadline = time.monotonic() + TIMEOUT_S
            while processes_of(marker) and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertEqual(processes_of(marker), [])
            self.assertEqual(os.listdir(folder), [])

    def assert_grade_stopped(self, stop):
        self.assert_stopped(stop, [*GRADE, "--precision", "0.000001", "--max-samples", "100000"], r"replaying|judging",
                            "Stopped; nothing was graded.")

    def test_one_process(self):
        self.assert_grade_stopped(lambda terminal: os.kill(terminal.process.pid, signal.SIGINT))

    def test_the_whole_group_as_a_terminal_does(self):
        self.assert_grade_stopped(lambda terminal: os.killpg(terminal.process.pid, signal.SIGINT))

    @unittest.skipUnless(os.path.exists(PYTHON), "there is no " + PYTHON)
    def test_a_description(self):
        with tempfile.TemporaryDirectory() as parent:
            problem = shutil.copytree(os.path.join(SOURCE_DIR, "tests", "foreign", "blend_rows"), os.path.join(parent, "p"))
            with open(os.path.join(problem, "reference.py"), "w") as f:
                f.write("import time\ntime.sleep(10**6)\n")
            command = ["describe-task", problem, "--python", PYTHON, "--isolation", "reduced"]
            for send in (os.kill, os.killpg):
                with self.subTest(send.__name__):
                    self.assert_stopped(lambda terminal: send(terminal.process.pid, signal.SIGINT), command, "describing",
                                        "The description was cancelled. [cancelled]")


if __name__ == "__main__":
    main()
