"""kgrade compare: what is in a report; tests/unit/test_cli_table.c has how it is printed.  Which candidate is faster is a
matter of times, and for tests/bench/compare."""

import json
import os

from common import BRIEFLY, EXAMPLE, SOURCE_DIR, Case, main, run

VERDICTS = {
    "kernel faster", "kernel slower", "launch path faster only", "launch path slower only", "no difference", "unresolved",
}  # fmt: skip


TRIES = 4  # on a machine that is too busy to time anything


class Compare(Case):
    def test_a_report(self):
        for _ in range(TRIES):
            result = run("compare", EXAMPLE, EXAMPLE, "--task", "vector_add", "--json", *BRIEFLY)
            self.assertIn(result.returncode, (0, 1), result.stderr)
            report = json.loads(result.stdout)
            if not report["reason"] or report["reason"]["code"] != "too_noisy":
                break
        self.assertIn(report["verdict"], VERDICTS)
        self.assertEqual(result.returncode, report["verdict"] == "unresolved")
        self.assertEqual(report["a"], report["b"])
        self.assertIsNone(report["reason"])
        self.assertEqual([case["dims"] for case in report["kernel"]["cases"]], [{"n": 65536}, {"n": 262144}])
        for at in (report["kernel"], report["launch_path"], *report["kernel"]["cases"]):
            self.assertLessEqual(at["ratio"]["low"], at["ratio"]["value"])
            self.assertLessEqual(at["ratio"]["value"], at["ratio"]["high"])
        try:
            import jsonschema
        except ImportError:
            return
        with open(os.path.join(SOURCE_DIR, "grader", "compare", "compare.schema.json")) as f:
            jsonschema.validate(report, json.load(f))

    def test_what_cannot_be_compared(self):
        broken = run("compare", EXAMPLE, "-", "--task", "vector_add", *BRIEFLY, stdin="no C\n")
        self.assert_exit(broken, 1)
        self.assertIn("[compile_failed]", broken.stdout)
        with open(EXAMPLE) as f:
            wrong = f.read().replace("a[i] + b[i]", "a[i] - b[i]")
        result = run("compare", EXAMPLE, "-", "--task", "vector_add", "--json", *BRIEFLY, stdin=wrong)
        self.assert_exit(result, 1)
        report = json.loads(result.stdout)
        self.assertIsNone(report["verdict"])
        self.assertEqual(report["reason"]["code"], "wrong_values")
        self.assertNotIn("kernel", report)

    def test_usage(self):
        self.assert_exit(run("compare", EXAMPLE, "--task", "vector_add"), 2)
        self.assert_exit(run("compare", EXAMPLE, EXAMPLE), 2)
        self.assert_exit(run("compare", EXAMPLE, EXAMPLE + ".none", "--task", "vector_add"), 2)


if __name__ == "__main__":
    main()
