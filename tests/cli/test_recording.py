"""Recordings: kept, shown, replayed; and what is none."""

import json
import os
import tempfile

from common import BRIEFLY, EXAMPLE, Case, main, run


class Recording(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "out.kgr")

    def record(self):
        self.run_ok("grade", EXAMPLE, "-t", "vector_add", "--recording", self.path, *BRIEFLY)

    def test_show_and_replay(self):
        self.record()
        manifest = self.run_json("recording", "show", self.path, "--json")
        self.assertEqual(manifest["device"], "opencl")
        self.assertEqual(manifest["task"], "vector_add")
        text = self.run_ok("recording", "show", self.path).stdout
        self.assertIn("opencl", text)
        self.assertTrue(self.run_ok("recording", "show", self.path, "--dot").stdout.startswith("digraph"))
        replayed = self.run_json("replay", self.path, "--task", "vector_add", "--json", *BRIEFLY)
        self.assertEqual(replayed["verdict"], "accepted")

    def test_no_recording_of_what_was_not_built(self):
        result = run("grade", "-", "-t", "vector_add", "--recording", self.path, *BRIEFLY, stdin="no C\n")
        self.assert_exit(result, 1)
        self.assertIn("was not written", result.stderr)
        self.assertFalse(os.path.exists(self.path))

    def test_what_is_no_recording(self):
        self.record()
        with open(self.path, "rb") as f:
            good = f.read()
        for bad in (b"", b"KGRADE1\n", good[:-1], good[:100], good.replace(b"vector_add", b"vector_xxx")):
            with open(self.path, "wb") as f:
                f.write(bad)
            for arguments in (["recording", "show", self.path], ["replay", self.path, "-t", "vector_add", *BRIEFLY]):
                result = run(*arguments)
                # A manifest that names another task is sound, but does not fit.
                if arguments[0] == "recording" and b"vector_xxx" in bad:
                    continue
                self.assert_exit(result, 2)
                self.assertIn("recording_", result.stderr)

    def test_the_wrong_task(self):
        self.record()
        result = run("replay", self.path, "--task", "softmax", *BRIEFLY)
        self.assert_exit(result, 2)


if __name__ == "__main__":
    main()
