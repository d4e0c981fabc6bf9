"""Recordings: kept, shown, replayed; and what is none."""

import json
import os
import tempfile

from common import BRIEFLY, DOUBTS, EXAMPLE, Case, main, run


class Recording(Case):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.good = os.path.join(cls.folder.name, "good.kgr")
        cls.other = os.path.join(cls.folder.name, "other.kgr")
        result = run("grade", EXAMPLE, "-t", "vector_add", "--recording", cls.good, *BRIEFLY)
        assert result.returncode in (0, 1), result.stderr  # the times are no matter here

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_show(self):
        manifest = self.run_json("recording", "show", self.good, "--json")
        self.assertEqual(manifest["device"], "opencl")
        self.assertEqual(manifest["task"], "vector_add")
        text = self.run_ok("recording", "show", self.good).stdout
        self.assertIn("opencl", text)
        self.assertIn("kind=bytes at=0 hex=01000100  (i32 65537, f32 ", text.replace("3  kind", "kind"))
        self.assertTrue(self.run_ok("recording", "show", self.good, "--dot").stdout.startswith("digraph"))

    def test_replay(self):
        result = run("replay", self.good, "--task", "vector_add", "--json", *BRIEFLY)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        replayed = json.loads(result.stdout)
        self.assertIn(replayed["verdict"], {"accepted", *DOUBTS})
        self.assertTrue(all(case["correctness"]["pass"] for case in replayed["cases"]))

    def test_what_is_no_recording(self):
        with open(self.good, "rb") as f:
            good = f.read()
        for bad in (b"", b"KGRADE1\n", good[:-1], good[:100], good.replace(b"global_id", b"GLOBAL_ID")):
            with open(self.other, "wb") as f:
                f.write(bad)
            shown = run("recording", "show", self.other)
            self.assert_exit(shown, 2)
            self.assertIn("[recording_invalid]", shown.stderr)
            replayed = run("replay", self.other, "-t", "vector_add", *BRIEFLY)
            self.assert_exit(replayed, 2)
            self.assertIn("[recording_invalid]", replayed.stderr)

    def test_the_wrong_task(self):
        result = run("replay", self.good, "--task", "softmax", *BRIEFLY)
        self.assert_exit(result, 1)
        self.assertIn("REFUSED", result.stdout)

    def test_no_recording_of_what_was_not_built(self):
        result = run("grade", "-", "-t", "vector_add", "--recording", self.other + ".none", *BRIEFLY, stdin="no C\n")
        self.assert_exit(result, 1)
        self.assertIn("was not written", result.stderr)
        self.assertFalse(os.path.exists(self.other + ".none"))


if __name__ == "__main__":
    main()
