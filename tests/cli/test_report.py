"""--report: the page about a result, of a real grade and of results of every verdict that a server tells."""

import json
import os

from common import BRIEFLY, EXAMPLE, SOURCE_DIR, main, run
from report_help import HOSTILE, HTML, REASONS, SERIES, SVG, Handler, Page, ReportCase, result_of, text_of

with open(EXAMPLE) as example:
    SOURCE = example.read()
# The 8th element of every hundred is wrong.
WRONG = SOURCE.replace("a[i] + b[i]", "a[i] + b[i] + (i % 100 == 7 ? 0.5f : 0.0f)")


class Verdicts(ReportCase):
    def test_every_verdict_has_a_page(self):
        for verdict in ("accepted", *REASONS):
            with self.subTest(verdict):
                result = result_of(verdict)
                page = self.page_of(result)
                heading = text_of(page.all(f"{HTML}h1")[0])
                self.assertEqual(heading.lower().replace(" ", "_"), verdict)
                self.assertIn(f"{result['score']:.3f}", page.words)
                if result["reason"]:
                    for key in ("code", "message", "hint"):
                        self.assertIn(result["reason"][key], page.words)
                    if result["reason"]["log"]:
                        self.assertEqual(text_of(page.all(f"{HTML}pre")[0]), result["reason"]["log"])
                for fact in ("a processor", "3.1", "full", "a" * 64, "b" * 64, "2030-01-02T03:04:05Z", "1852 bytes"):
                    self.assertIn(fact, page.words)
                self.assertNotIn("Recorded graph", page.words)

    def test_figures_are_those_of_the_result(self):
        page = self.page_of(result_of("accepted"))
        rows = page.rows()
        self.assertEqual([row["case"] for row in rows],
                         ["correctness", "correctness", "benchmark", "benchmark", "hidden"])
        self.assertEqual([row["dims"] for row in rows], ["n=31", "n=1024", "n=1048576", "n=4194304", ""])
        self.assertEqual(rows[2], {
            "case": "benchmark", "dims": "n=1048576", "right": "yes", "device time": "19.40 µs ± 0.052",
            "p10–p90": "19.10–19.90 µs", "samples": "120 (+2 void)", "baseline": "20.44 µs",
            "speedup (95 %)": "1.053 (1.049–1.060)", "host, unscored": "19.98 µs (first 595.6 ms)",
            "roofline": "41.0 % of memory",
        })
        # 1048576 operations in 19.4 and 20.436 µs, under 16 GB/s and 200 Gop/s.
        for figure in ("54.05 Gop/s", "51.31 Gop/s", "memory 16 GB/s, arithmetic 200 Gop/s", "caches 90 GB/s",
                       "every sample"):
            self.assertIn(figure, page.words)
        rugs = [path for path in page.all(f"{SVG}path") if "rug" in path.get("class", "")]
        self.assertEqual(len(rugs), 4)  # candidate and baseline of two cases
        for rug in rugs:  # one line a sample, but for those that are said to be outside
            self.assertEqual(rug.get("d").count("M"), len(SERIES["samples_ns"]) - 1)
        self.assertIn("2 samples outside the axis; the slowest took 62.00 µs.", page.words)

    def test_the_elements_around_the_worst_one(self):
        page = self.page_of(result_of("wrong_answer"))
        table = next(t for t in page.all(f"{HTML}table") if t.get("class") == "elements")
        rows = [[text_of(cell) for cell in row] for row in table.find(f"{HTML}tbody")]
        self.assertEqual(rows, [
            ["38", "1.5", "1.5", "0"], ["39", "-2.25", "-2.25", "0"], ["40", "0.0473509", "NaN or ∞", ""],
            ["41", "3", "3.125", "0.125"],
        ])
        worst = [row for row in table.iter(f"{HTML}tr") if row.get("class") == "worst"]
        self.assertEqual(len(worst), 1)
        self.assertIn("worst element 40 of c", page.words)

    def test_an_older_server(self):
        """Results without samples, ceilings and neighbours still make a page."""
        for verdict in ("accepted", "wrong_answer"):
            result = result_of(verdict)
            for case in result["cases"]:
                for key in ("device_time", "baseline"):
                    case.get(key, {}).pop("samples_ns", None)
                if "roofline" in case:
                    case["roofline"] = {"fraction": 0.41, "bound": "memory"}
                if case["correctness"]:
                    case["correctness"] = {k: v for k, v in case["correctness"].items() if k != "around"}
            page = self.page_of(result)
            if verdict == "accepted":
                self.assertIn("41.0 % of what memory allows.", page.words)

    def test_hostile_words_stay_words(self):
        def poisoned(value):
            if isinstance(value, dict):
                return {key: poisoned(v) for key, v in value.items()}
            if isinstance(value, list):
                return [poisoned(v) for v in value]
            return HOSTILE if isinstance(value, str) else value

        for verdict in ("accepted", "wrong_answer", "build_failed", "suspect"):
            result = poisoned(result_of(verdict))
            result["environment"][HOSTILE] = HOSTILE
            result["steps"][HOSTILE + "_ms"] = 3
            for case in result["cases"]:
                case["dims"] = {HOSTILE: 3}
            path = self.path()
            ran = self.grade_on_server(result, path)
            self.assertIn(ran.returncode, (0, 1))
            self.assertNotIn("\033", ran.stdout)
            page = Page(path)
            self.assert_harmless(page)
            self.assertNotIn("<script", page.text)
            self.assertNotIn("<img", page.text)
            self.assertNotIn("\u001b", page.text)
            self.assertNotIn("\u202e", page.text)
            self.assertIn("<script src=\"//evil.example/x.js\">", page.words)  # it can be read

    def test_nonsense_from_a_server(self):
        for result in ({}, {"verdict": 3, "cases": 7}, {"cases": [None, 3, {}, {"dims": 4}], "environment": []}):
            path = self.path()
            ran = self.grade_on_server(result, path)
            self.assertIn(ran.returncode, (0, 1, 3))
            self.assert_harmless(Page(path))


class Files(ReportCase):
    def test_an_existing_file_is_not_overwritten(self):
        path = self.path()
        with open(path, "w") as f:
            f.write("mine")
        for command in (["grade", EXAMPLE], ["replay", EXAMPLE]):
            ran = run(*command, "-t", "vector_add", "--report", path, *BRIEFLY)
            self.assert_exit(ran, 2)
            self.assertIn("[file_exists]", ran.stderr)
            self.assertEqual(ran.stdout, "")
        with open(path) as f:
            self.assertEqual(f.read(), "mine")

    def test_a_folder_that_is_not_there(self):
        ran = run("grade", EXAMPLE, "-t", "vector_add", "--report", "/nowhere/at/all.html", *BRIEFLY)
        self.assert_exit(ran, 2)
        self.assertIn("[file_unwritable]", ran.stderr)

    def test_no_page_of_what_is_no_request(self):
        path = self.path()
        ran = run("grade", EXAMPLE, "-t", "vector_ad", "--report", path, *BRIEFLY)
        self.assert_exit(ran, 2)
        self.assertFalse(os.path.exists(path))

    def test_json_goes_its_own_way(self):
        path = self.path()
        result = result_of("accepted")
        ran = self.grade_on_server(result, path, "--json")
        self.assert_exit(ran, 0)
        self.assertEqual(json.loads(ran.stdout), result)
        self.assert_harmless(Page(path))

    def test_a_page_that_cannot_be_written_is_reported(self):
        """The file appears while the grade runs: the result is printed, the exit status tells."""
        path = self.path()

        self.server.result = result_of("accepted")
        original = Handler.do_POST

        def do_POST(handler):
            with open(path, "w") as f:
                f.write("somebody else's")
            original(handler)

        Handler.do_POST = do_POST
        try:
            ran = self.grade_on_server(self.server.result, path)
        finally:
            Handler.do_POST = original
        self.assert_exit(ran, 3)
        self.assertIn("[file_exists]", ran.stderr)
        self.assertIn("ACCEPTED", ran.stdout)
        with open(path) as f:
            self.assertEqual(f.read(), "somebody else's")


class Grades(ReportCase):
    def test_a_real_grade_and_its_replay(self):
        path, recording, again = self.path(), self.path("calls.kgr"), self.path()
        ran = run("grade", EXAMPLE, "-t", "vector_add", "--report", path, "--recording", recording, "--json", *BRIEFLY)
        self.assertIn(ran.returncode, (0, 1), ran.stderr)  # the times are no matter here
        result = json.loads(ran.stdout)
        replayed = run("replay", recording, "-t", "vector_add", "--report", again, *BRIEFLY)
        self.assertIn(replayed.returncode, (0, 1), replayed.stderr)
        for name in (path, again):
            page = Page(name)
            self.assert_harmless(page)
            self.assertIn("Recorded graph", page.words)
            self.assertIn("grid 65536 work-items", page.words)
            kernels = {text_of(item.find(f"{HTML}div/{HTML}code")) for item in page.all(f"{HTML}li")}
            self.assertEqual(kernels, {"add"})
        benchmarks = [case for case in result["cases"] if "device_time" in case]
        self.assertTrue(benchmarks)
        for case in benchmarks:
            for key in ("device_time", "baseline"):
                samples = case[key]["samples_ns"]
                self.assertEqual(len(samples), min(case[key]["samples"], 256))
                # Rounding moves each of them by half a nanosecond at most.
                self.assertAlmostEqual(min(samples), case[key]["min_ns"], delta=1)
                middle = sorted(samples)[len(samples) // 2 - 1 : len(samples) // 2 + 1]
                self.assertLessEqual(middle[0] - 1, case[key]["median_ns"])
                self.assertGreaterEqual(middle[1] + 1, case[key]["median_ns"])
            self.assertGreater(case["roofline"]["bytes"], 0)
            self.assertGreater(case["roofline"]["memory_bytes_per_s"], 0)

    def test_a_wrong_answer_shows_what_is_around(self):
        path = self.path()
        ran = run("grade", "-", "-t", "vector_add", "--report", path, "--json", *BRIEFLY, stdin=WRONG)
        self.assert_exit(ran, 1)
        result = json.loads(ran.stdout)
        self.assertEqual(result["verdict"], "wrong_answer")
        failed = next(c["correctness"] for c in result["cases"] if c["correctness"] and not c["correctness"]["pass"])
        around, worst = failed["around"], failed["worst"]
        at = worst["index"] - around["first"]
        self.assertEqual(worst["index"] % 100, 7)
        self.assertEqual(around["got"][at], worst["got"])
        self.assertEqual(around["expected"][at], worst["expected"])
        self.assertLessEqual(len(around["got"]), 16)
        for i, (expected, got) in enumerate(zip(around["expected"], around["got"])):
            self.assertAlmostEqual(got - expected, 0.5 if i == at else 0, places=5)
        page = Page(path)
        self.assert_harmless(page)
        self.assertIn(f"worst element {worst['index']} of c", page.words)

    def test_results_fit_their_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        with open(os.path.join(SOURCE_DIR, "grader", "grade.schema.json"), encoding="utf-8") as f:
            validator = jsonschema.Draft202012Validator(json.load(f))
        for source in (SOURCE, WRONG):
            ran = run("grade", "-", "-t", "vector_add", "--json", *BRIEFLY, stdin=source)
            validator.validate(json.loads(ran.stdout))
        for verdict in ("accepted", *REASONS):  # what the other tests are made from
            validator.validate(result_of(verdict))


if __name__ == "__main__":
    main()
