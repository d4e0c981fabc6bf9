#!/usr/bin/env python3
"""The operators of table.py as foreign tasks, each with a candidate and a baseline.

    operators.py write FOLDER [NAME...]     a problem in FOLDER/NAME for each, for `kgrade describe-task`
    operators.py judge NAME RESULT.json     a line for the table; exit status 1: not as expected
    operators.py list                       their names, those that compile for long last
    operators.py try [NAME...]              candidates and references called here, on the card or else the CPU (needs PyTorch)
"""

import importlib.util
import json
import pathlib
import shutil
import sys
import tempfile

from table import OPERATORS

HERE = pathlib.Path(__file__).resolve().parent
IMPORTS = "import functools\n\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"


def in_order():
    return sorted(OPERATORS, key=lambda o: o.slow)


def reference(o):
    text = IMPORTS + f"from drawing import *\n\n\ndef inputs(n):\n    made = {o.inputs}\n    return made if isinstance(made, tuple) else (made,)\n\n\n"
    if not o.layer:
        return text + f"def reference({o.takes}):\n    return {o.reference}\n"
    rounded = f"        for p in self.layer.parameters():\n            p.data = p.data.to(torch.{o.dtype}).float()\n"
    return text + ("class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                   f"        self.layer = {o.layer}\n{rounded}\n    def forward(self, {o.takes}):\n        return {o.reference}\n\n\n"
                   "def nothing():\n    return []\n")


def candidate(o, words=None, setup=None):
    text = IMPORTS + (o.setup if setup is None else setup) + "\n\n"
    words = words or o.candidate or o.reference
    if not o.layer:
        return text + f"def solve({o.takes}):\n    return {words}\n"
    return text + ("class ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                   f"        self.layer = ({o.layer}).to(torch.{o.dtype})\n\n    def forward(self, {o.takes}):\n        return {words}\n")


def problem(o):
    form = {"form": "model", "reference": "Model", "init": "nothing"} if o.layer else {"form": "arguments", "reference": "reference"}
    return {"name": o.name, "title": o.name.replace("_", " "), **form, "files": ["reference.py", "drawing.py"], "inputs": "inputs",
            "cases": {"correctness": [{"n": o.n[0]}], "benchmark": [{"n": o.n[1]}]}, "tolerance": o.tolerance,
            "workspace_bytes": 256 << 20, "devices": ["cuda", "opencl"]}


def write(folder, names):
    for o in in_order():
        if names and o.name not in names:
            continue
        into = pathlib.Path(folder) / o.name
        into.mkdir(parents=True, exist_ok=True)
        (into / "problem.json").write_text(json.dumps(problem(o), indent=2) + "\n")
        (into / "statement.md").write_text(f"# {o.name}\n\n    {o.reference}\n")
        (into / "reference.py").write_text(reference(o))
        shutil.copy(HERE / "drawing.py", into)
        (into / "candidate.py").write_text(candidate(o))
        plain = o.baseline or o.candidate or o.reference
        (into / "baseline.cuda.py").write_text(candidate(o, plain, "" if o.baseline else o.setup))


def judge(name, path):
    o = next(o for o in OPERATORS if o.name == name)
    try:
        result = json.loads(pathlib.Path(path).read_text())
    except (OSError, ValueError):
        print(f"FAILED  {name:<22} no result")
        return 1
    reason = result["reason"] or {}
    code = reason.get("code", "")
    right = result["verdict"] in o.expect and (not code or code in o.expect)
    time = next((c["device_time"]["median_ns"] for c in result["cases"] if c.get("device_time")), None)
    spread = f"{time / 1000:9.2f} us" if time else " " * 12
    print(f"{'ok' if right else 'FAILED':<7} {name:<22} {result['verdict']:<14} {code:<22} {result['score']:6.3f} {spread}"
          + ("" if right else f"  expected {' '.join(o.expect)}; {' '.join(reason.get('message', '').split())[:200]}"))
    return not right


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def try_one(o, folder, torch):
    """The largest error in parts of what the tolerance allows, of the candidate and of the baseline."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    write(folder, [o.name])
    sys.path.insert(0, str(folder / o.name))
    problem_module = load(folder / o.name / "reference.py", "reference")
    torch.manual_seed(1)
    data = problem_module.inputs(o.n[0])
    answers = []
    for path, entry in (("candidate.py", "ModelNew"), ("baseline.cuda.py", "ModelNew"), ("reference.py", "Model")):
        module = load(folder / o.name / path, "tried")
        torch.manual_seed(42)
        function = getattr(module, entry)().to(device) if o.layer else getattr(module, "reference" if entry == "Model" else "solve")
        given = [x.to(device) for x in data]
        if entry == "Model":
            given = [x.double() if x.is_floating_point() else x for x in given]
            function = function.double() if o.layer else function
        with torch.no_grad():
            answers.append(function(*given).double().cpu())
    expected, bound = answers[2], o.tolerance["absolute"] + o.tolerance["relative"] * answers[2].abs()
    return [((a - expected).abs() / bound).max().item() if a.shape == expected.shape else float("nan") for a in answers[:2]]


def try_all(names):
    import torch

    failed = 0
    for o in in_order():
        if names and o.name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                errors = try_one(o, pathlib.Path(folder), torch)
                right = all(e <= 1 for e in errors)
                print(f"{'ok' if right else 'FAILED':<7} {o.name:<22} of the tolerance: {errors[0]:.3f}, baseline {errors[1]:.3f}", flush=True)
            except Exception as error:  # what this PyTorch lacks, or a machine without a card
                right = False
                print(f"FAILED  {o.name:<22} {type(error).__name__}: {' '.join(str(error).split())[:120]}", flush=True)
            failed += not right
            sys.path.pop(0)
            for module in ("reference", "drawing", "tried"):
                sys.modules.pop(module, None)
    print(f"operators: {failed} not as expected")
    return failed > 0


def main(arguments):
    what, rest = (arguments[0] if arguments else ""), arguments[1:]
    if what == "write" and rest:
        return write(rest[0], rest[1:])
    if what == "judge" and len(rest) == 2:
        return judge(*rest)
    if what == "list":
        return print("\n".join(o.name for o in in_order()))
    if what == "try":
        return try_all(rest)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
