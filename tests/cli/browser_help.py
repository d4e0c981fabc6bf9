"""What the tests of pages in a real browser share: starting it, measuring a page, looking at a picture of it."""

import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import zlib

BROWSER_TRIES = 3
BROWSER_TIMEOUT_S = 120
PICTURES = os.environ.get("KGRADE_TEST_PICTURES")  # a folder that keeps the screenshots, to be looked at


def find_browser():
    named = os.environ.get("KGRADE_TEST_BROWSER")
    names = [named] if named else ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
    return next((path for path in map(shutil.which, names) if path), None)


BROWSER = find_browser()


def read_png(path):
    """Width, height and rows of bytes of a picture with eight bits a sample, without interlacing."""
    with open(path, "rb") as f:
        data = f.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed += body
        at += size + 12
    assert depth == 8 and colour in (2, 6) and interlace == 0
    pixel = 3 if colour == 2 else 4
    raw, stride, rows = zlib.decompress(packed), width * pixel, []
    above = bytearray(stride)
    for y in range(height):
        start = y * (stride + 1)
        kind, line = raw[start], bytearray(raw[start + 1 : start + 1 + stride])
        if kind:
            unfilter(kind, line, above, pixel)
        rows.append(bytes(line))
        above = line
    return width, height, pixel, rows


def unfilter(kind, line, above, pixel):
    for i in range(len(line)):
        left = line[i - pixel] if i >= pixel else 0
        up, corner = above[i], above[i - pixel] if i >= pixel else 0
        if kind == 1:
            line[i] = line[i] + left & 255
        elif kind == 2:
            line[i] = line[i] + up & 255
        elif kind == 3:
            line[i] = line[i] + (left + up) // 2 & 255
        else:
            estimate = left + up - corner
            distances = abs(estimate - left), abs(estimate - up), abs(estimate - corner)
            line[i] = line[i] + (left, up, corner)[distances.index(min(distances))] & 255


class Browsing:
    """For a test case with self.folder, a temporary folder."""

    PHONE, DESKTOP = 390, 1280

    def browse(self, page, *arguments):
        """What the browser prints.  It is another's program, and may crash or hang while it starts: then it is started again."""
        for _ in range(BROWSER_TRIES):
            profile = tempfile.mkdtemp(dir=self.folder.name)
            try:
                ran = subprocess.run(
                    [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--force-device-scale-factor=1", "--no-first-run", f"--user-data-dir={profile}",
                     *arguments, "file://" + page],
                    capture_output=True, text=True, timeout=BROWSER_TIMEOUT_S, stdin=subprocess.DEVNULL,
                )  # fmt: skip
            except subprocess.TimeoutExpired as hung:
                said = str(hung)
                continue
            if ran.returncode == 0:
                return ran.stdout
            said = ran.stderr
        self.fail(said)

    def measure_all(self, places, before=""):
        """Of each page and width: the widths that it takes in a frame of that width, and what sticks out of it or lies on
        something.  before: a script that is run first."""
        frames = ""
        for i, (page, width) in enumerate(places):
            with open(page, encoding="utf-8") as f:
                text = f.read()
            self.assertIn("style-src 'unsafe-inline'", text)
            # Only this copy may run a script: the one that measures it.
            inner = os.path.join(os.path.dirname(places[0][0]), f"{i}.inner.html")
            with open(inner, "w", encoding="utf-8") as f:
                f.write(text.replace("style-src 'unsafe-inline'", "style-src 'unsafe-inline'; script-src 'unsafe-inline'")
                        .replace("</body>", f"<script>const number = {i}; {before}{MEASURE}</script></body>"))
            frames += f"<iframe src='{i}.inner.html' style='border:0;width:{width}px;height:800px'></iframe>"
        outer = os.path.join(os.path.dirname(places[0][0]), "outer.html")
        with open(outer, "w", encoding="utf-8") as f:
            f.write("<!DOCTYPE html><meta charset='utf-8'><body style='margin:0'><pre id='found'></pre><script>const all = [];"
                    "addEventListener('message', e => { all.push(e.data); found.textContent = JSON.stringify(all) })</script>"
                    + frames)
        dom = self.browse(outer, "--dump-dom", "--virtual-time-budget=20000", "--allow-file-access-from-files")
        found = re.search(r"<pre id=\"found\">(.*?)</pre>", dom, re.S)
        self.assertTrue(found and found.group(1), dom[:2000])
        all_found = json.loads(found.group(1).replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&"))
        self.assertEqual(sorted(one["number"] for one in all_found), list(range(len(places))))
        return sorted(all_found, key=lambda one: one["number"])

    def assert_all_fit(self, places, before=""):
        for (page, width), found in zip(places, self.measure_all(places, before)):
            with self.subTest(page=os.path.basename(page), width=width):
                self.assertEqual(found["inner"], width)
                self.assertLessEqual(found["scroll"], width)
                self.assertEqual(found["outside"], [])
                self.assertEqual(found["overlapping"], [])

    def assert_drawn(self, page, width, dark):
        picture = f"{page}.{width}.png"
        self.browse(page, f"--window-size={width},2400", f"--screenshot={picture}",
                    f"--blink-settings=preferredColorScheme={0 if dark else 1}")
        got, height, pixel, rows = read_png(picture)
        # A window of Chromium may be no narrower than 500 pixels; the frame of assert_fits may.
        self.assertGreaterEqual(got, width)
        paper = rows[1][:3]
        self.assertEqual(sum(paper) < 3 * 64, dark, paper)
        drawn = sum(row != rows[1][:pixel] * got for row in rows)
        self.assertGreater(drawn, height // 20)
        colours = {row[i : i + 3] for row in rows[::3] for i in range(0, len(row), pixel * 3)}
        self.assertGreater(len(colours), 20)
        if PICTURES:
            name = f"{os.path.basename(page)}.{width}.{'dark' if dark else 'light'}.png"
            shutil.copy(picture, os.path.join(PICTURES, name))


# Told to the frame around: how wide the page is, what sticks out of it and cannot be scrolled to, and which labels of a
# drawing lie on one another.
MEASURE = """
const width = document.documentElement.clientWidth;
const outside = [], labels = [], overlapping = [];
for (const e of document.body.querySelectorAll('*')) {
  const r = e.getBoundingClientRect();
  if (r.width === 0 || r.height === 0 || e.closest('.wide table')) continue;
  if (r.right > width + 1 || r.left < -1) outside.push(e.tagName + '.' + e.getAttribute('class') + ' ' + r.left + ' ' + r.right);
  if (e.tagName === 'text') labels.push([e, r]);
}
for (const [i, [e, a]] of labels.entries())
  for (const [f, b] of labels.slice(0, i))
    if (a.left < b.right + 2 && b.left < a.right + 2 && a.top < b.bottom && b.top < a.bottom)
      overlapping.push(e.textContent + ' | ' + f.textContent);
parent.postMessage({number, inner: innerWidth, scroll: document.documentElement.scrollWidth, outside, overlapping}, '*');
"""
