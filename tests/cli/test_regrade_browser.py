"""The page of `kgrade regrade report` in a real browser: it is drawn, and fits a telephone and a desk, with all of it unfolded."""

import os
import subprocess
import sys
import tempfile
import unittest

from browser_help import BROWSER, Browsing
from common import TIMEOUT_S, main

PAGES = os.environ["KGRADE_TEST_PAGES"]  # the unit test of the page, which writes pages when it is asked to
UNFOLD = "document.querySelectorAll('details').forEach(e => e.open = true);"


class Page(Browsing, unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="kgrade-test-")
        self.addCleanup(self.folder.cleanup)

    def page(self, board):
        path = os.path.join(self.folder.name, f"regrade_{board}.html")
        subprocess.run([PAGES, board, path], check=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL)
        return path

    def test_it_fits(self):
        boards = [self.page(board) for board in ("pair", "forty", "runs", "hostile")]
        widths = (320, self.PHONE, 700, self.DESKTOP)
        self.assert_all_fit([(page, width) for page in boards for width in widths], UNFOLD)

    def test_it_is_drawn(self):
        page = self.page("forty")
        self.assert_drawn(page, self.PHONE, dark=True)
        self.assert_drawn(page, self.DESKTOP, dark=False)


if __name__ == "__main__":
    if not BROWSER:
        print("There is no browser: install chromium, or name one in KGRADE_TEST_BROWSER.")
        sys.exit(77)
    main()
