"""What the tests of --report share: results of every verdict, a server that tells them, and reading a page."""

import copy
import http.server
import json
import os
import tempfile
import threading
import xml.etree.ElementTree as ElementTree

from common import EXAMPLE, Case, run

HTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</style></pre><script src=\"//evil.example/x.js\">alert('1')</script><img src=x onerror=alert(1)>\u001b[2J\u202e&amp;]]>"

SERIES = {
    "centre_ns": 19400.0, "median_ns": 19400.0, "mean_ns": 19500.0, "min_ns": 19000.0, "p10_ns": 19100.0, "p90_ns": 19900.0,
    "p99_ns": 20500.0, "stderr_ns": 52.0, "samples": 120, "void_samples": 2, "floor_ns": 1200.0,
    "resolution_ns": 1.0, "cache": "warm", "stopped": "precision",
    "samples_ns": [19000 + (i * 37) % 1000 for i in range(118)] + [20500, 61000],
}
OVERHEAD = {"scored": False, "cold_ns": 595553962, "warm_ns": 19979.5, "warm_p90_ns": 35884.9, "calls": 20}
CHECKED = {
    "pass": True, "judged_samples": 2, "parameter": "c", "count": 1024, "bad": 0, "nan": 0, "unwritten": 0,
    "norm": 2.3e-08, "worst": {"index": 21, "error": 5.2e-08, "expected": 1.08, "got": 1.08},
}
FAILED = {
    **CHECKED, "pass": False, "bad": 3, "nan": 1, "norm": 0.25,
    "worst": {"index": 40, "error": None, "expected": 0.0473509, "got": None},
    "around": {"first": 38, "expected": [1.5, -2.25, 0.0473509, 3.0], "got": [1.5, -2.25, None, 3.125]},
}
REASONS = {
    "wrong_answer": ("wrong_values", "The output is wrong. Case: {\"n\":1024}."),
    "build_failed": ("compile_failed", "The source does not compile."),
    "refused": ("host_node", "The graph holds a host node."),
    "runtime_error": ("crashed", "The call crashed."),
    "timeout": ("replay_timeout", "The replay took too long."),
    "unresolved": ("too_noisy", "The speedup is only known to lie between 0.5 and 1.5."),
    "suspect": ("faster_than_roofline", "A replay took 100 ns."),
    "infrastructure_error": ("device_quarantined", "The device is quarantined."),
}
EXIT = {"accepted": 0, "infrastructure_error": 3}


def case_of(kind, dims, correctness, times=False):
    case = {"kind": kind, "dims": dims, "correctness": correctness}
    if kind != "hidden":
        case["host_overhead"] = dict(OVERHEAD)
    if times:
        case["device_time"] = copy.deepcopy(SERIES)
        case["baseline"] = {**copy.deepcopy(SERIES), "centre_ns": 20436.0, "median_ns": 20436.0, "p10_ns": 20100.0, "p90_ns": 20900.0}
        case["baseline"]["samples_ns"] = [ns + 1000 for ns in SERIES["samples_ns"]]
        case["speedup"] = {"value": 1.0534, "low": 1.049, "high": 1.06, "confidence": 0.95}
        case["roofline"] = {
            "fraction": 0.41, "bound": "memory", "bytes": 12582912, "operations": 1048576,
            "memory_bytes_per_s": 1.6e10, "cache_bytes_per_s": 9e10, "operations_per_s": 2e11,
        }
    return case


def result_of(verdict):
    """A result as the verdict has it: how far the grade came, and why it ended."""
    timed = verdict in ("accepted", "unresolved", "suspect")
    built = verdict not in ("build_failed", "infrastructure_error")
    wrong = verdict == "wrong_answer"
    cases = [
        case_of("correctness", {"n": 31}, dict(CHECKED) if timed or wrong else None),
        case_of("correctness", {"n": 1024}, FAILED if wrong else dict(CHECKED) if timed else None),
        case_of("benchmark", {"n": 1048576}, dict(CHECKED) if timed else None, timed),
        case_of("benchmark", {"n": 4194304}, dict(CHECKED) if timed else None, timed),
        case_of("hidden", None, {"pass": True, "judged_samples": 1} if timed else None),
    ]
    if not built:
        for case in cases:
            case.pop("host_overhead", None)
    code, message = REASONS.get(verdict, (None, None))
    return {
        "schema": "kgrade.grade/1", "id": "1e1329ebef46546ca55f1d51579fdbfa", "graded_at": "2030-01-02T03:04:05Z",
        "task": {"name": "vector_add", "hash": "a" * 64},
        "candidate": {"hash": "b" * 64, "language": "c", "bytes": 1852, "build_cached": False},
        "device": "opencl", "verdict": verdict, "score": 1.0534 if verdict == "accepted" else 0,
        "scored": "device_time",
        "reason": code and {
            "code": code, "message": message, "hint": "Look at the line that is named.",
            "log": "candidate.c:3:1: error: expected ';'\n  3 | int x\n" if verdict == "build_failed" else None,
            "retryable": verdict == "infrastructure_error",
        },
        "cases": cases,
        "environment": {
            "kgrade": "0.1.0", "isolation": "full", "host": {"kernel": "6.1.0", "cpu": "a processor", "cpus": 2},
            "hardware": "a processor", "driver": "3.1", "timer": "markers", "replay": "queue",
        },
        "steps": {"build_ms": 56.5, "record_ms": 12.25, "total_ms": 1200.0},
    }


class Server(http.server.ThreadingHTTPServer):
    """As much of kgraded as `kgrade grade --server` needs; every grade has the result that is set."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.result = None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(202, "application/json", b'{"id": "abcd", "state": "queued"}')

    def do_GET(self):
        if self.path.endswith("/events"):
            self.answer(200, "text/event-stream", b"id: 1\nevent: done\ndata: {}\n\n")
        else:
            grade = {"id": "abcd", "state": "done", "result": self.server.result}
            self.answer(200, "application/json", json.dumps(grade).encode())


def text_of(element):
    return "".join(element.itertext())


class Page:
    """A page, read by a strict parser."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.text = f.read()
        self.root = ElementTree.fromstring(self.text)
        self.words = text_of(self.root.find(f"{HTML}body"))

    def all(self, name):
        return list(self.root.iter(name))

    def rows(self):
        """The table of cases as dictionaries by heading."""
        table = next((t for t in self.all(f"{HTML}table") if t.get("class") == "cases"), None)
        if table is None:
            return []
        return [
            {cell.get("data-label"): text_of(cell) for cell in row.iter(f"{HTML}td")}
            for row in table.find(f"{HTML}tbody").iter(f"{HTML}tr")
        ]


class ReportCase(Case):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()
        cls.folder.cleanup()

    def path(self, name="page.html"):
        return os.path.join(tempfile.mkdtemp(dir=self.folder.name), name)

    def grade_on_server(self, result, path, *more):
        self.server.result = result
        return run("grade", EXAMPLE, "-t", "vector_add", "--server", self.server.url, "--report", path, *more,
                   env={"KGRADE_TOKEN": "", "no_proxy": "*"})

    def page_of(self, result):
        path = self.path()
        ran = self.grade_on_server(result, path)
        self.assert_exit(ran, EXIT.get(result["verdict"], 1))
        page = Page(path)
        self.assert_harmless(page)
        return page

    def assert_harmless(self, page):
        """Nothing is loaded, nothing runs, every place in a drawing is a number."""
        places = {"x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "width", "height", "viewBox"}
        allowed = {
            *(HTML + name for name in (
                "html head meta title style body main header footer section div p h1 h2 h3 b code pre span table "
                "thead tbody tr th td dl dt dd ol li details summary figure figcaption").split()),
            *(SVG + name for name in "svg rect line circle path text".split()),
        }
        for element in page.root.iter():
            self.assertIn(element.tag, allowed)
            for name, value in element.attrib.items():
                self.assertNotIn(name, ("style", "src", "href", "action"))
                self.assertFalse(name.startswith("on"), name)
                if element.tag.startswith(SVG) and name in places and element.get("class") is not None:
                    self.assertRegex(value, r"^-?\d+(\.\d+)?%?( -?\d+)*$", ElementTree.tostring(element))
        outside = page.text.replace("http://www.w3.org/1999/xhtml", "").replace("http://www.w3.org/2000/svg", "")
        self.assertNotIn("http:", outside)
        self.assertNotIn("https:", outside)
        style = text_of(page.root.find(f"{HTML}head/{HTML}style"))
        self.assertNotRegex(style, r"url\(|@import|@font-face|expression")
        self.assertIn("prefers-color-scheme:dark", style)
        metas = [meta.attrib for meta in page.all(f"{HTML}meta")]
        self.assertIn({"name": "viewport", "content": "width=device-width, initial-scale=1"}, metas)
        self.assertTrue(any("default-src 'none'" in meta.get("content", "") for meta in metas))
