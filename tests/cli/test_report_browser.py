"""--report in a real browser: the page is drawn, light and dark, and fits a telephone and a desk."""

import sys

from browser_help import BROWSER, Browsing
from common import BRIEFLY, EXAMPLE, main, run
from report_help import HOSTILE, REASONS, ReportCase, result_of


class Browser(Browsing, ReportCase):
    """In a real browser: something is drawn, in both widths, and nothing sticks out to the side."""

    def test_every_verdict(self):
        places = []
        for verdict in ("accepted", *REASONS):
            path = self.path(f"{verdict}.html")
            self.grade_on_server(result_of(verdict), path)
            places += [(path, self.PHONE), (path, self.DESKTOP)]
        self.assert_all_fit(places)

    def test_pictures(self):
        for verdict, dark in (("accepted", False), ("accepted", True), ("wrong_answer", False)):
            path = self.path(f"{verdict}.html")
            self.grade_on_server(result_of(verdict), path)
            for width in (self.PHONE, self.DESKTOP):
                self.assert_drawn(path, width, dark)

    def test_long_words_and_hostile_ones_fit_too(self):
        result = result_of("suspect")
        result["reason"] = {"code": "k" * 300, "message": "m" * 500, "hint": HOSTILE * 5, "log": "l" * 5000 + HOSTILE,
                            "retryable": True}
        result["task"]["name"] = "t" * 200
        result["environment"]["hardware"] = "h" * 900
        result["environment"]["e" * 300] = "x"
        for case in result["cases"]:
            if case["dims"]:
                case["dims"] = {f"dimension_{i}": 10**9 + i for i in range(8)}
        path = self.path()
        self.grade_on_server(result, path)
        widths = (320, self.PHONE, 700, self.DESKTOP)
        for width, found in zip(widths, self.measure_all([(path, width) for width in widths])):
            with self.subTest(width=width):
                self.assertLessEqual(found["scroll"], width)
                self.assertEqual(found["outside"], [])

    def test_a_real_grade(self):
        path = self.path()
        ran = run("grade", EXAMPLE, "-t", "vector_add", "--report", path, *BRIEFLY)
        self.assertIn(ran.returncode, (0, 1), ran.stderr)
        self.assert_all_fit([(path, self.PHONE), (path, self.DESKTOP)])


if __name__ == "__main__":
    if not BROWSER:
        print("There is no browser: install chromium, or name one in KGRADE_TEST_BROWSER.")
        sys.exit(77)
    main()
