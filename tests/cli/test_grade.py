"""grade: verdicts, exit statuses, the table, the JSON."""

import json
import os
import tempfile

from common import BRIEFLY, DOUBTS, EXAMPLE, Case, main, run

with open(EXAMPLE) as example:
    SOURCE = example.read()
WRONG = SOURCE.replace("a[i] + b[i]", "a[i] - b[i]")


class Grade(Case):
    def grade(self, source, *more):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "candidate.c")
            with open(path, "w") as f:
                f.write(source)
            return run("grade", path, "--task", "vector_add", *BRIEFLY, *more)

    def test_accepted(self):
        result = self.run_accepted("grade", EXAMPLE, "--task", "vector_add", *BRIEFLY)
        self.assertTrue(result.stdout.startswith("ACCEPTED  score "), result.stdout)
        self.assertEqual(result.stderr, "")
        self.assertNotIn("\033", result.stdout)
        for part in ("benchmark", "correctness", "hidden", "n=262144", "µs", "isolation", "samples"):
            self.assertIn(part, result.stdout)

    def test_json(self):
        result = json.loads(
            self.run_accepted("grade", EXAMPLE, "--task", "vector_add", "--json", *BRIEFLY).stdout
        )
        self.assertEqual(result["schema"], "kgrade.grade/1")
        self.assertEqual(result["verdict"], "accepted")
        self.assertGreater(result["score"], 0)

    def test_standard_input(self):
        result = json.loads(run("grade", "-", "-t", "vector_add", "--json", *BRIEFLY, stdin=SOURCE).stdout)
        self.assertEqual(result["candidate"]["bytes"], len(SOURCE))
        self.assertIsNotNone(result["cases"][0]["correctness"])

    def test_reduced_only(self):
        result = json.loads(
            run("grade", EXAMPLE, "-t", "vector_add", "--json", *BRIEFLY, "--isolation", "reduced-only").stdout
        )
        self.assertIn(result["verdict"], {"accepted", *DOUBTS}, result["reason"])
        self.assertEqual(result["environment"]["isolation"], "reduced")

    def test_wrong_answer(self):
        result = self.grade(WRONG)
        self.assert_exit(result, 1)
        self.assertTrue(result.stdout.startswith("WRONG ANSWER  score 0.000"), result.stdout)
        self.assertIn("What to do:", result.stdout)
        self.assertIn("NO", result.stdout)

    def test_build_failed(self):
        result = self.grade("this is not C\n")
        self.assert_exit(result, 1)
        self.assertTrue(result.stdout.startswith("BUILD FAILED"), result.stdout)
        self.assertIn("  Log:\n  | ", result.stdout)
        self.assertIn("error", result.stdout)

    def test_several_files(self):
        # It builds, links and loads, and then enqueues nothing.
        files = {
            "entry.c": '#include "part.h"\nvoid vector_add(void) { PART(); }\n',
            "part.c": '#include "part.h"\nvoid part(void) {}\n',
            "part.h": "void part(void);\n#define PART part\n",
        }
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                with open(os.path.join(folder, name), "w") as f:
                    f.write(text)
            paths = [os.path.join(folder, name) for name in files]
            result = run("grade", *paths, "--task", "vector_add", *BRIEFLY)
            self.assert_exit(result, 1)
            self.assertIn("nothing_enqueued", result.stdout)
            result = run("grade", *paths[::2], "--task", "vector_add", *BRIEFLY)
            self.assertIn("undefined symbol: part", result.stdout)
            for arguments, code in (
                ([paths[2], paths[2]], "bad_bundle"),
                ([paths[2], EXAMPLE + ".none"], "file_unreadable"),
                ([paths[0], "-"], "file_unreadable"),
            ):
                result = run("grade", *arguments, "--task", "vector_add", *BRIEFLY)
                self.assert_exit(result, 2)
                self.assertIn(f"[{code}]", result.stderr)

    def test_flags(self):
        needs = "\n#if WANTED != 3\n#error no\n#endif\nvoid vector_add(void) {}\n"
        for flags, outcome in (
            ("-DWANTED=3", "nothing_enqueued"),
            ("-DWANTED=2", "compile_failed"),
            ("-DWANTED=3 -I/etc", "flag_not_allowed"),
        ):
            result = self.grade("// kgrade-flags: " + flags + needs)
            self.assert_exit(result, 1)
            self.assertIn(outcome, result.stdout)

    def test_bad_requests(self):
        for arguments, code in (
            (["--task", "vector_ad"], "unknown_task"),
            (["--task", "vector_add", "--device", "abacus"], "unknown_device"),
            (["--task", "vector_add", "--language", "cobol"], "unknown_language"),
        ):
            result = run("grade", EXAMPLE, *arguments, *BRIEFLY)
            self.assert_exit(result, 2)
            self.assertIn(f"[{code}]", result.stderr)
            self.assertEqual(result.stdout, "")
        result = self.grade("")
        self.assert_exit(result, 2)
        self.assertIn("[empty_source]", result.stderr)


if __name__ == "__main__":
    main()
