"""check-task finds each defect that a task can have: one is planted at a time."""

import json
import os
import shutil
import tempfile

from common import BRIEFLY, SOURCE_DIR, Case, main, run

VECTOR_ADD = os.path.join(SOURCE_DIR, "tasks", "vector_add")
CASES = {
    "correctness": [{"n": 1}, {"n": 1000}],
    "benchmark": [{"n": 16384}],
    "hidden": [{"count": 1, "n": [1, 1000]}],
}


def uniform(scale, offset=0):
    return {"distribution": "uniform", "scale": scale, "offset": offset}


class Defects(Case):
    def check(self, values=None, tolerance=None, cases=None, reference=None, **changes):
        """What is found in vector_add after changes; values are those of both inputs."""
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "vector_add")
            shutil.copytree(VECTOR_ADD, copy)
            path = os.path.join(copy, "task.json")
            with open(path) as f:
                task = json.load(f)
            task["cases"] = {**CASES, **(cases or {})}
            task["tolerance"]["f32"].update(tolerance or {})
            for parameter, drawn in zip(task["parameters"], values or ()):
                parameter["values"] = drawn
            task.update(changes)
            with open(path, "w") as f:
                json.dump(task, f)
            if reference:
                with open(os.path.join(copy, "reference.c"), "w") as f:
                    f.write(
                        "#include <stdint.h>\n"
                        "void reference(const double *a, const double *b, double *c, int64_t n)\n"
                        "{ for (int64_t i = 0; i < n; i++) " + reference + " }\n"
                    )
            report = json.loads(run("check-task", copy, *BRIEFLY, "--json").stdout)
        return report

    def assert_found(self, check, text, **changes):
        report = self.check(**changes)
        self.assertFalse(report["passed"], report)
        bad = [f for f in report["findings"] if not f["ok"]]
        self.assertEqual([f["check"] for f in bad], [check], report)
        self.assertRegex(bad[0]["detail"], text)

    def test_none(self):
        report = self.check()
        self.assertTrue(report["passed"], report)
        self.assertIn("answers", [f["check"] for f in report["findings"]])

    def test_roofline_below_the_traffic(self):
        self.assert_found(
            "roofline",
            r'^\{"n":1\}: roofline.bytes is 8, but the buffers hold 12',
            roofline={"bytes": "8 * n", "operations": "n"},
        )

    def test_roofline_above_the_traffic(self):
        self.assert_found(
            "roofline", "roofline.bytes is 16", roofline={"bytes": "16 * n", "operations": "n"}
        )

    def test_roofline_negative(self):
        self.assert_found(
            "task.json", "cannot be", roofline={"bytes": "12 * n", "operations": "0 - n"}
        )

    def test_hidden_case_beyond_the_limits(self):
        with open(os.path.join(VECTOR_ADD, "task.json")) as f:
            parameters = json.load(f)["parameters"]
        for parameter in parameters:
            if parameter["kind"] in ("in", "out"):
                parameter["shape"] = ["64 * n"]
        self.assert_found(
            "task.json",
            r"\$\.cases\.hidden\[0\]: The buffer a would be larger",
            parameters=parameters,
            roofline={"bytes": "12 * 64 * n", "operations": "n"},
            cases={"hidden": [{"count": 1, "n": [1, 2000000000]}]},
        )

    def test_other_values_overflow(self):
        other = {"count": 1, "n": [1, 1000], "other_values": {"a": uniform(3e38), "b": uniform(3e38)}}
        self.assert_found(
            "answers",
            r'"n":[0-9]+\} with the values of \$\.cases\.hidden\[1\]: the reference\'s answer is found wrong',
            cases={"hidden": CASES["hidden"] + [other]},
        )

    def test_other_values_are_asked_little_of(self):
        """They need not tell a cheap answer from a right one; the usual values do."""
        other = {"count": 1, "n": [1, 1000], "other_values": {"b": uniform(1e-12)}}
        report = self.check(cases={"hidden": CASES["hidden"] + [other]})
        self.assertTrue(report["passed"], report)

    def test_zeros_pass(self):
        self.assert_found(
            "answers",
            r'"n":16384\}: zeros is found right',
            values=[uniform(1e-9), uniform(1e-9)],
            tolerance={"absolute": 1e-6, "norm": 1},
        )

    def test_ones_pass(self):
        self.assert_found(
            "answers", "ones is found right", values=[uniform(1e-9, 0.5), uniform(1e-9, 0.5)]
        )

    def test_a_constant_passes(self):
        self.assert_found(
            "answers", "a constant is found right", values=[uniform(1e-9, 3), uniform(1e-9, 4)]
        )

    def test_an_unwritten_output_passes(self):
        self.assert_found(
            "answers",
            "an output with an unwritten element is found right",
            tolerance={"absolute": 1e300, "relative": 1, "norm": 0.05},
            values=[uniform(1e5, -5e4), uniform(1e5, -5e4)],
        )

    def test_a_permutation_passes(self):
        self.assert_found(
            "answers",
            "an output shifted by one element is found right",
            values=[{"distribution": "sorted", "scale": 5e4, "offset": 1e5}, uniform(1)],
            tolerance={"absolute": 6e4, "relative": 0, "norm": 0.01},
        )

    def test_an_input_passes(self):
        self.assert_found(
            "answers", 'a copy of input "a" is found right', values=[uniform(2, -1), uniform(1e-12)]
        )

    def test_an_input_has_no_influence(self):
        self.assert_found(
            "answers", 'an answer without input "b" is found right', reference="c[i] = 3 * a[i];"
        )

    def test_no_input_has_influence(self):
        self.assert_found(
            "answers",
            "the answer to another sample is found right",
            reference="c[i] = (i * 7919) % 1009;",
            tolerance={"absolute": 0, "relative": 0, "norm": 0},
        )

    def test_lower_precision_passes(self):
        self.assert_found(
            "answers",
            "below the precision that the task allows is found right",
            tolerance={"absolute": 1e-2, "relative": 1e-2, "norm": 1e-2},
        )

    def test_allowed_precision_fails(self):
        self.assert_found(
            "answers",
            "to the precision that the task allows is found wrong",
            tolerance={"precision": "bf16"},
        )

    def test_overflow(self):
        self.assert_found(
            "answers",
            "the reference's answer is found wrong",
            values=[uniform(3e38), uniform(3e38)],
        )

    def test_only_large_cases(self):
        large = [{"n": 100000000}]
        self.assert_found(
            "answers",
            "None of the cases is small enough",
            cases={"correctness": large, "benchmark": large},
        )

    def test_a_reference_that_does_not_compile(self):
        self.assert_found("answers", "does not compile", reference="c[i] = nonsense;")

    def test_a_precision_that_does_not_exist(self):
        self.assert_found(
            "task.json", r"\$\.tolerance\.f32\.precision", tolerance={"precision": "f33"}
        )


if __name__ == "__main__":
    main()
