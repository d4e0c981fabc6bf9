"""kgrade profile: ranges, counts and nesting of candidates whose host code is known.  No time is asserted on."""

import json
import os
import tempfile

from common import EXAMPLE, HERE, SOURCE_DIR, Case, main, run

FOLDER = os.path.join(SOURCE_DIR, "tests", "profile")

KEYS = ["nodeid", "operator", "backend", "phase", "range", "metric", "count", "unit", "mean", "median"]
MORE_KEYS = ["min", "p10", "p90", "p99", "mad", "population", "thread", "observer_ns", "observer_sensitive", "depth", "path"]

# The layers of InfiniOps's host range profiling.
LAYERS = [
    "binding.body", "binding.tensor_conversion", "binding.device_conversion", "dispatch.call", "operator.call", "cache.key",
    "cache.lookup", "cache.construct", "operator.invoke", "backend.submit",
]  # fmt: skip


def paths(*names):
    return [name if "/" in name else os.path.join(FOLDER, name) for name in names]


def profile(*files, task="vector_add", more=()):
    return run("profile", *paths(*files), "--task", task, *HERE, *more)


class Profile(Case):
    def rows(self, *files, task="vector_add"):
        result = profile(*files, task=task, more=["--jsonl"])
        self.assert_exit(result, 0)
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        for row in rows:
            self.assertEqual(list(row), KEYS + MORE_KEYS)
            self.assertEqual(len(row["path"]), row["depth"])
        # No name is in two places in these candidates.
        self.assertEqual(len({(row["phase"], row["range"], row["metric"]) for row in rows}), len(rows))
        return {(row["phase"], row["range"], row["metric"]): row for row in rows}

    def test_a_candidate_that_names_nothing(self):
        rows = self.rows(EXAMPLE)
        calls = rows["warm", "candidate.entry", "inclusive"]["count"]
        self.assertEqual(rows["cold", "candidate.entry", "inclusive"]["count"], 5)
        self.assertEqual(rows["cold", "candidate.entry", "inclusive"]["population"], "first_calls_of_processes")
        self.assertEqual(rows["warm", "candidate.entry", "self"]["population"], "single_calls")
        self.assertEqual(rows["warm", "end_to_end", "inclusive"]["population"], "block_averages")
        self.assertEqual(rows["warm", "end_to_end", "inclusive"]["count"], calls)
        self.assertNotIn(("warm", "end_to_end", "self"), rows)
        self.assertNotIn(("cold", "end_to_end", "inclusive"), rows)
        self.assertEqual(rows["cold", "api.clBuildProgram", "inclusive"]["count"], 5)
        self.assertNotIn(("warm", "api.clBuildProgram", "inclusive"), rows)
        self.assertEqual(rows["warm", "api.clEnqueueNDRangeKernel", "self"]["count"], calls)
        # What is in the rows is in the calls, and nothing twice.
        for phase in ("cold", "warm"):
            whole = rows[phase, "candidate.entry", "inclusive"]
            parts = [row for (p, name, metric), row in rows.items() if p == phase and metric == "self" and "api." not in name]
            self.assertAlmostEqual(
                sum(row["mean"] * row["count"] for row in parts) / (whole["mean"] * whole["count"]), 1, places=6
            )

    def test_planted_costs(self):
        rows = self.rows("planted.c", "nvtx_client.h")
        for phase in ("cold", "warm"):
            calls = rows[phase, "candidate.entry", "inclusive"]["count"]
            once = ["planted.spin", "planted.domain", "planted.numbered", "api.clCreateBuffer", "api.clReleaseMemObject"]
            for name in once:
                self.assertEqual(rows[phase, name, "inclusive"]["count"], calls, name)
            self.assertEqual(rows[phase, "backend.memory", "self"]["count"], 2 * calls)
            self.assertEqual(rows[phase, "api.clGetDeviceInfo", "self"]["count"], 3 * calls)
            self.assertEqual(rows[phase, "api.clEnqueueNDRangeKernel", "self"]["count"], 10 * calls)
            # Busy for as long as its own clock says, whatever else the machine does.
            self.assertGreaterEqual(rows[phase, "planted.spin", "self"]["min"], 4900)
            self.assertEqual(rows[phase, "planted.numbered", "self"]["depth"], rows[phase, "planted.domain", "self"]["depth"] + 1)
        self.assertEqual(rows["warm", "backend.query", "self"]["count"], 3 * rows["warm", "candidate.entry", "self"]["count"])
        self.assertNotIn(("warm", "backend.module", "self"), rows)
        self.assertNotIn(("warm", "backend.sync", "self"), rows)

    def chain(self, file, task):
        rows = self.rows(file, "chain.h", "nvtx.h", "nvtx_client.h", task=task)
        own = {key: row for key, row in rows.items() if key[1] in LAYERS + ["end_to_end"]}
        self.assertEqual(len(own), 39)
        calls = own["warm", "binding.body", "inclusive"]["count"]
        for (phase, name, metric), row in own.items():
            per_call = 3 if name == "binding.tensor_conversion" else 1
            self.assertEqual(row["count"], per_call * (5 if phase == "cold" else calls), (phase, name))
            self.assertEqual((row["operator"], row["backend"], row["unit"]), (task, "opencl", "ns"))
        for phase in ("cold", "warm"):
            times = [own[phase, "backend.submit", metric]["mean"] for metric in ("self", "inclusive")]
            self.assertAlmostEqual(times[0] / times[1], 1, places=9)
            depths = [own[phase, name, "self"]["depth"] for name in ("binding.body", "dispatch.call", "operator.call")]
            self.assertEqual(depths, [1, 2, 3])
            around = ["candidate.entry", "binding.body", "dispatch.call", "operator.call", "operator.invoke"]
            self.assertEqual(own[phase, "backend.submit", "self"]["path"], around)
        self.assertNotIn(("warm", "cache.construct", "self"), own)

    def test_an_add_behind_layers(self):
        self.chain("chain_add.c", "vector_add")

    def test_a_matrix_product_behind_layers(self):
        self.chain("chain_gemm.c", "matmul")

    def test_misuse(self):
        codes = ["range_unclosed", "range_crossed", "range_not_open", "range_foreign_thread", "ring_full"]
        for way, code in enumerate(codes):
            with tempfile.TemporaryDirectory() as folder:
                header = os.path.join(folder, "way.h")
                with open(header, "w") as f:
                    f.write(f"#define WAY {way}\n")
                result = profile("misuse.c", "nvtx_client.h", header, more=["--json"])
            self.assert_exit(result, 1)
            report = json.loads(result.stdout)
            self.assertIn(code, [error["code"] for error in report["errors"]])
            self.assertEqual({error["phase"] for error in report["errors"]}, {"cold", "warm"})
            # No figure of a range, but whole calls are what they were.
            self.assertEqual([row["range"] for row in report["rows"]], ["end_to_end"])

    def test_report_and_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace.json")
            result = profile("planted.c", "nvtx_client.h", more=["--json", "--trace", trace])
            self.assert_exit(result, 0)
            report = json.loads(result.stdout)
            with open(trace) as f:
                events = json.load(f)["traceEvents"]
            again = profile("planted.c", "nvtx_client.h", more=["--trace", trace])
            self.assert_exit(again, 2)
            self.assertIn("[file_exists]", again.stderr)
        self.assertEqual(report["schema"], "kgrade.profile/1")
        self.assertEqual(report["dims"], {"n": 65536})
        self.assertIsNone(report["reason"])
        self.assertEqual(report["calls"]["warm_launches"], 10)
        self.assertEqual(report["calls"]["cold"], 5)
        self.assertEqual(set(report["calibration"]), {"cold", "warm"})
        self.assertNotIn("trace", report)
        self.assertIsNone(report["control"])
        entries = [event for event in events if event["name"] == "candidate.entry"]
        self.assertEqual({event["pid"] for event in entries}, {1, 2, 3, 4, 5, 6})
        spins = [event for event in events if event["name"] == "planted.spin"]
        for spin in spins:
            around = [e for e in entries if e["pid"] == spin["pid"] and e["ts"] <= spin["ts"] + 1e-3]
            self.assertTrue(any(spin["ts"] + spin["dur"] <= e["ts"] + e["dur"] + 1e-3 for e in around))

    def test_the_report_fits_its_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        with open(os.path.join(SOURCE_DIR, "grader", "profile", "profile.schema.json")) as f:
            schema = json.load(f)
        jsonschema.Draft202012Validator.check_schema(schema)
        result = profile("planted.c", "nvtx_client.h", more=["--json", "--control"])
        self.assert_exit(result, 0)
        report = json.loads(result.stdout)
        jsonschema.validate(report, schema)
        self.assertEqual([(c["compiled"], c["active"]) for c in report["control"]], [(False, False), (True, False), (True, True)])
        self.assertTrue(all(len(c["rounds_ns"]) == 15 and min(c["rounds_ns"]) > 0 for c in report["control"]))
        broken = run("profile", "-", "--task", "vector_add", "--json", *HERE, stdin="no C\n")
        jsonschema.validate(json.loads(broken.stdout), schema)

    def test_a_grade_with_a_profile(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page.html")
            result = run(
                "grade", EXAMPLE, "-t", "vector_add", "--json", "--profile", "--report", page, "--max-samples", "20", *HERE
            )
            self.assertIn(result.returncode, (0, 1), result.stderr)
            with open(page, encoding="utf-8") as f:
                text = f.read()
        report = json.loads(result.stdout)["profile"]
        self.assertEqual(report["schema"], "kgrade.profile/1")
        self.assertIn("api.clEnqueueNDRangeKernel", [row["range"] for row in report["rows"]])
        self.assertIn("Where host time goes", text)
        self.assertIn("api.clEnqueueNDRangeKernel", text)
        broken = run("grade", "-", "-t", "vector_add", "--json", "--profile", *HERE, stdin="no C\n")
        self.assert_exit(broken, 1)
        self.assertNotIn("profile", json.loads(broken.stdout))

    def test_for_people(self):
        result = profile("chain_add.c", "chain.h", "nvtx.h", "nvtx_client.h", more=["--control"])
        self.assert_exit(result, 0)
        for word in ("not built in", "cold: 5 calls", "warm:", "    binding.body", "api.clEnqueueNDRangeKernel", "end_to_end", "1 launch a call"):
            self.assertIn(word, result.stdout)

    def test_what_does_not_build(self):
        result = run("profile", "-", "--task", "vector_add", *HERE, stdin="no C\n")
        self.assert_exit(result, 1)
        self.assertIn("[compile_failed]", result.stdout)
        lines = run("profile", "-", "--task", "vector_add", "--jsonl", *HERE, stdin="no C\n")
        self.assert_exit(lines, 1)
        self.assertEqual(lines.stdout, "")
        self.assertIn("[compile_failed]", lines.stderr)

    def test_what_crashes(self):
        source = '#include <CL/cl.h>\nvoid vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue q)\n{ *(volatile int *)0 = 0; }\n'
        result = run("profile", "-", "--task", "vector_add", *HERE, stdin=source)
        self.assert_exit(result, 1)
        self.assertIn("[crashed_in_call]", result.stdout)

    def test_ranges_do_nothing_in_a_grade(self):
        with open(EXAMPLE) as f:
            source = f.read()
        source = source.replace("\nvoid vector_add", '\n#include "kgrade_ranges.h"\nvoid vector_add', 1)
        source = source.replace("    static cl_kernel", '    kgrade_range_push("never ended");\n    static cl_kernel', 1)
        self.assertIn("never ended", source)
        result = run("grade", "-", "--task", "vector_add", "--json", "--max-samples", "20", *HERE, stdin=source)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        self.assertTrue(all(case["correctness"]["pass"] for case in json.loads(result.stdout)["cases"]))

    def test_usage(self):
        self.assert_exit(run("profile", EXAMPLE), 2)
        both = run("profile", EXAMPLE, "-t", "vector_add", "--json", "--jsonl")
        self.assert_exit(both, 2)
        self.assertIn("Choose one", both.stderr)


if __name__ == "__main__":
    main()
