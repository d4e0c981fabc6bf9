"""How a problem in Python becomes a task: what its generator and its reference give is found out by calling them.

Loaded by problem.py, which is __main__, in the judge's interpreter.  problem.json and the problem's files come in one text,
task.json goes out; tasks/README.md describes both.
"""

import gc
import json
import math
import random
import sys
import time

from __main__ import (
    DEFAULT_SEED, FLOATS, LARGEST_SEED, SIZES, Failure, Problem, Walker, as_outputs, build, dense_order, failure_of, unsupported)

FORMS = {"data": "custom_kernel", "arguments": "solve", "model": "ModelNew"}  # and what a candidate exports
KEYS = {  # of problem.json: what each holds, and whether it must be there
    "name": (str, True), "title": (str, True), "form": (str, True), "entry": (str, False), "files": (list, True),
    "inputs": (str, True), "reference": (str, True), "init": (str, False), "output": (str, False), "check": (str, False),
    "seed": (int, False), "seeds": (int, False), "cases": (dict, True), "tolerance": (dict, True),
    "workspace_bytes": (int, False), "devices": (list, False),
}
KINDS = {str: "a text", int: "an integer", list: "an array", dict: "an object"}
SEEDS = 20240229, 77003  # of the inputs that a task is described by
MAX_DIMS = 12
MAX_CASES = 32
SPARE_BYTES = 1 << 20  # buffers begin at round addresses
SLOW_S = 10  # of one answer: double precision would take several times as long
SLOW_DOUBLE_S = 3  # of one in double precision: a grade judges a dozen
TRIES = 10  # beside others, of what finds no memory
PAUSE_S = 0.5, 1.5  # between tries: others hold theirs for about as long


class Describer:
    """Finds out what the data of each case is, by making it."""

    def __init__(self, draft, files, device, alone):
        self.draft, self.alone = draft, alone
        self.tolerance = draft["tolerance"]
        self.problem = Problem(draft, files, device, alone)
        self.arrays = self.problem.arrays
        self.double = True
        self.fixed = []  # values of cases whose answer does not depend on their inputs

    def take_apart(self, values, seed):
        walker = Walker(self.arrays, "in")
        structure = walker.walk(self.problem.data(values, seed))
        return structure, [self.arrays.of(leaf).fresh(leaf) for leaf in walker.leaves]

    def made_again(self, values, seed, structure, leaves):
        """Whether the data has the same structure, and of each array whether its contents are the same."""
        walker = Walker(self.arrays, "in")
        alike = walker.walk(self.problem.data(values, seed)) == structure and [tuple(x.shape) for x in walker.leaves] == [
            tuple(x.shape) for x in leaves]
        return alike, [self.same([a], [b]) for a, b in zip(leaves, walker.leaves)]

    def put_together(self, structure, leaves, double=False):
        copies = []
        for leaf in leaves:
            library = self.arrays.of(leaf)
            leaf = library.placed(leaf)
            copies.append(library.double(leaf) if double else leaf)
        return build(structure, lambda name: (copies[int(name[2:])], self.arrays.of(copies[int(name[2:])]))), copies

    def run(self, structure, leaves, double=False, seed=DEFAULT_SEED):
        """The outputs, and for each the input that it is, or None."""
        data, copies = self.put_together(structure, leaves, double)
        places = [self.arrays.of(c).place(c)[0] for c in copies]
        outputs = as_outputs(self.problem.evaluate(data, double, seed))
        if not outputs:
            raise unsupported("The reference returns nothing.")
        aliases = []
        for output in outputs:
            library = self.arrays.of(output)
            if not library:
                raise unsupported(f"The reference returns a {type(output).__name__}.", "It returns arrays, or a tuple of them.")
            if library.kind(output) is None:
                raise unsupported(f"The reference returns an array of type {output.dtype}.", f"Known are {', '.join(SIZES)}.")
            place = library.place(output)[0]
            alias = places.index(place) if place in places and output.shape else None
            # A part of an input is an answer of its own.
            whole = alias is not None and math.prod(output.shape) == math.prod(copies[alias].shape)
            if whole and dense_order(library.strides(output), output.shape) != list(range(len(output.shape))):
                raise unsupported("The reference writes into an input whose axes lie in another order.",
                                  "Have it return an array of its own.")
            aliases.append(alias if whole else None)
        return outputs, aliases

    def same(self, a, b):
        return all(self.arrays.of(x) is not None and self.arrays.of(x).same(x, y) for x, y in zip(a, b))

    def near(self, a, b):
        return len(a) == len(b) and all(self.arrays.of(x).near(x, y, self.tolerance) for x, y in zip(a, b))

    def variant(self, values):
        structure, leaves = self.take_apart(values, SEEDS[0])
        is_alike, repeated = self.made_again(values, SEEDS[0], structure, leaves)
        is_alike_otherwise, fixed = self.made_again(values, SEEDS[1], structure, leaves)
        start = time.monotonic()
        outputs, aliases = self.run(structure, leaves)
        slow = time.monotonic() - start > SLOW_S
        if self.draft.get("output") == "last":
            aliases = self.last(leaves, outputs)
        if not is_alike or not is_alike_otherwise:
            raise unsupported("Shapes, numbers or texts among the inputs depend on the seed.", "Only values of arrays may.")
        kinds = self.kinds(structure, leaves, outputs, aliases)
        given = [i for i, kind in enumerate(kinds) if kind != "out"]
        if not all(repeated[i] for i in given):
            raise Failure("inputs_random", "The generator gives other inputs when it is asked again with the same seed.",
                          "It must draw from what it is given: its seed, or the seeded generators of random, NumPy and PyTorch.")
        if all(fixed[i] for i in given):
            raise Failure("inputs_fixed", "The generator gives the same inputs for every seed.",
                          "Inputs must be new for every sample, or answers could be kept.")
        outputs_again, _ = self.run(structure, leaves, seed=SEEDS[1])
        if not self.near(outputs, outputs_again):
            raise Failure("reference_random", "The reference answers the same inputs differently each time.",
                          "An answer must follow from the inputs.")
        del outputs_again
        if self.near(outputs, self.run(*self.take_apart(values, SEEDS[1]))[0]):
            self.fixed.append(values)
        self.double = self.double and not slow and self.can_double(structure, leaves, outputs)
        return structure, leaves, kinds, outputs, aliases

    def last(self, leaves, outputs):
        """The last array is the output by the problem's rules, whatever the reference does with it."""
        if len(outputs) != 1 or not leaves or math.prod(outputs[0].shape) != math.prod(leaves[-1].shape):
            raise unsupported("The last of the arrays is not as large as what the reference returns.",
                              'Leave out "output", or say so of a problem that passes its one output last.')
        return [len(leaves) - 1]

    def kinds(self, structure, leaves, outputs, aliases):
        """Which inputs are written: into those whose contents do not matter, or do."""
        kinds = ["in"] * len(leaves)
        if self.draft.get("output") == "last":
            kinds[-1] = "out"
            return kinds
        for i in {a for a in aliases if a is not None}:
            spoiled = [self.arrays.of(leaf).fresh(leaf) for leaf in leaves]
            self.arrays.of(spoiled[i]).spoil(spoiled[i])
            kinds[i] = "out" if self.near(outputs, self.run(structure, spoiled)[0]) else "inout"
        return kinds

    def can_double(self, structure, leaves, outputs):
        try:
            start = time.monotonic()
            wide, _ = self.run(structure, leaves, double=True)
            return self.near(wide, outputs) and time.monotonic() - start <= SLOW_DOUBLE_S
        except (Failure, RuntimeError, TypeError) as error:
            failure = error if isinstance(error, Failure) else failure_of("reference", error, "raised")
            if failure.code == "judge_memory" and not self.alone:
                raise failure
            return False

    def describe(self):
        cases = [(kind, {k: v for k, v in values.items() if k != "seed"})
                 for kind in ("correctness", "benchmark") for values in self.draft["cases"][kind]]
        if len(cases) > MAX_CASES:
            raise unsupported(f"There are {len(cases)} cases.", f"A task has at most {MAX_CASES}.")
        seen, variants = [], []  # each with the values that it is of; of equal cases one of each kind
        for case in cases:
            same = [found for values, found in seen if values == case[1]]
            if not same:
                seen.append((case[1], self.variant(case[1])))
            if case not in variants:
                variants.append(case)
        # A case for correctness may be too small to tell: the softmax of one element is 1.
        if any(values in self.fixed for kind, values in cases if kind == "benchmark"):
            raise Failure("answers_fixed", "The reference answers other inputs alike, within the tolerance.",
                          "Whoever returned a constant would be right; give it inputs, sizes or a tolerance that tell answers apart.")
        by_variant = [next(found for values, found in seen if values == case[1]) for case in variants]
        return Writer(self, cases, variants, by_variant).task()


class Writer:
    """task.json from what was seen of the cases."""

    def __init__(self, describer, cases, different, seen):
        """cases: of which kind and with which values; different: those that differ, and what was seen of each."""
        self.describer, self.cases, self.different, self.seen = describer, cases, different, seen
        self.draft, self.arrays = describer.draft, describer.arrays
        self.dims = {}  # the extents of all cases -> name

    def agree(self, what, values):
        if any(value != values[0] for value in values):
            raise unsupported(f"{what} differ from case to case.", "Make two tasks of it.")
        return values[0]

    def extent(self, extents):
        if all(e == extents[0] for e in extents):
            return str(extents[0])
        return self.dims.setdefault(tuple(extents), f"n{len(self.dims)}")

    def buffer(self, name, kind, leaves):
        self.agree("Numbers of axes", [len(leaf.shape) for leaf in leaves])
        dtype = self.agree("Types of arrays", [self.arrays.of(leaf).kind(leaf) for leaf in leaves])
        shape = [self.extent([int(leaf.shape[axis]) for leaf in leaves]) for axis in range(len(leaves[0].shape))]
        return {"name": name, "kind": kind, "dtype": dtype, "shape": shape}

    def buffers(self):
        kinds = self.agree("Inputs that are written", [kinds for _, _, kinds, _, _ in self.seen])
        aliases = self.agree("Outputs that are inputs", [aliases for *_, aliases in self.seen])
        self.agree("Numbers of outputs", [len(outputs) for _, _, _, outputs, _ in self.seen])
        found = [self.buffer(f"in{i}", kind, [leaves[i] for _, leaves, *_ in self.seen]) for i, kind in enumerate(kinds)]
        for i, alias in enumerate(aliases):
            if alias is None:
                found.append(self.buffer(f"out{i}", "out", [outputs[i] for _, _, _, outputs, _ in self.seen]))
        # In the order of C: inputs first, then outputs.
        return sorted(found, key=lambda b: b["kind"] != "in")

    def outputs_of(self, leaves, outputs, aliases):
        names = [{"buffer": f"out{i}" if alias is None else f"in{alias}"} for i, alias in enumerate(aliases)]
        for name, output, alias in zip(names, outputs, aliases):
            if alias is not None and tuple(output.shape) != tuple(leaves[alias].shape):
                name["shape"] = list(output.shape)  # in which the problem's check expects it
        return names[0] if len(names) == 1 else {"tuple": names}

    def variants(self):
        init = Walker(self.arrays, "init")
        structure = init.walk(self.describer.problem.init())
        if init.leaves:
            raise unsupported("A model is constructed from arrays.", "Construct it from numbers.")
        model = {"init": structure} if self.draft["form"] == "model" else {}
        return [{"inputs": values, "data": data, "outputs": self.outputs_of(leaves, outputs, aliases), **model}
                for (_, values), (data, leaves, _, outputs, aliases) in zip(self.different, self.seen)]

    def case(self, case):
        index = self.different.index(case)
        return {"variant": index, **{name: extents[index] for extents, name in self.dims.items()}}

    def bytes(self, array):
        return math.prod(array.shape) * SIZES[self.arrays.of(array).kind(array)]

    def workspace(self):
        """For what is returned in arrays that the candidate has to make: those of two calls, as one may still hold the last ones."""
        made = [sum(self.bytes(output) for output, alias in zip(outputs, aliases) if alias is None) for *_, outputs, aliases in self.seen]
        return 2 * max(made) + SPARE_BYTES if max(made) else 0

    def task(self):
        draft, buffers, variants = self.draft, self.buffers(), self.variants()
        if len(self.dims) > MAX_DIMS:
            raise unsupported(f"The cases differ in more than {MAX_DIMS} extents.", "Make two tasks of it.")
        written = [b for b in buffers if b["kind"] != "in"]
        size = [" * ".join([str(SIZES[b["dtype"]]), *b["shape"]]) for b in written]
        dims = [{"name": name, "kind": "dim", "dtype": "i64"} for name in ("variant", *self.dims.values())]
        parameters = [*buffers, *dims, {"name": "stream", "kind": "stream"}]
        tolerance = {b["dtype"]: draft["tolerance"] for b in written if b["dtype"] in FLOATS}
        python = {key: draft[key] for key in ("form", "files", "inputs", "reference", "init", "check", "seed", "seeds") if key in draft}
        return {
            "name": draft["name"], "title": draft["title"], "entry": draft["entry"],
            "python": {**python, "double": self.describer.double, "variants": variants},
            "parameters": parameters,
            "cases": {which: [self.case(case) for case in self.cases if case[0] == which]
                      for which in ("correctness", "benchmark")},
            **({"tolerance": tolerance} if tolerance else {}),
            # What a foreign reference needs of its inputs is not known; what it writes is.
            "roofline": {"bytes": " + ".join(size), "operations": "0"},
            "workspace_bytes": draft.get("workspace_bytes", self.workspace()),
            **({"devices": draft["devices"]} if "devices" in draft else {}),
        }


def write_task(task):
    """As JSON, with a line for each parameter, case and variant."""
    def lines(value, indent, depth):
        if depth == 0 or not isinstance(value, (dict, list)) or not value:
            return json.dumps(value)
        inner, is_dict = indent + "  ", isinstance(value, dict)
        items = [json.dumps(k) + ": " + lines(v, inner, depth - 1) for k, v in value.items()] if is_dict else [
            lines(v, inner, depth - 1) for v in value]
        brackets = "{}" if is_dict else "[]"
        return brackets[0] + "\n" + ",\n".join(inner + item for item in items) + "\n" + indent + brackets[1]

    short = ("tolerance", "roofline")
    members = [json.dumps(k) + ": " + lines(v, "  ", 1 if k == "parameters" else 0 if k in short else 2) for k, v in task.items()]
    return "{\n" + ",\n".join("  " + member for member in members) + "\n}\n"


def invalid(message):
    return Failure("problem_invalid", f"problem.json: {message}", "tasks/README.md describes the file.")


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


def check_keys(draft):
    for key in draft:
        if key not in KEYS:
            raise invalid(f'the key "{key}" is not known; known are {", ".join(KEYS)}.')
    for key, (kind, needed) in KEYS.items():
        if key not in draft and needed:
            raise invalid(f'"{key}" is missing.')
        if key in draft and (not isinstance(draft[key], kind) or isinstance(draft[key], bool)):
            raise invalid(f'"{key}" is not {KINDS[kind]}.')


def read_draft(text):
    """problem.json with what may be left out of it, the problem's files, and whether no others use the device meanwhile."""
    bundle = json.loads(text)
    draft = bundle["problem"]
    check_keys(draft)
    if draft["form"] not in FORMS:
        raise invalid(f'"form" is none of {", ".join(FORMS)}.')
    if draft.get("output", "last") != "last":
        raise invalid('"output" can only be "last".')
    if not 1 <= draft.get("seeds", LARGEST_SEED) <= LARGEST_SEED:
        raise invalid(f'"seeds" is not from 1 to {LARGEST_SEED}.')
    for key in ("absolute", "relative", "norm"):
        if not is_number(draft["tolerance"].get(key)):
            raise invalid(f'"tolerance" has no number "{key}", or a negative one.')
    for kind in ("correctness", "benchmark"):
        cases = draft["cases"].get(kind)
        if not isinstance(cases, list) or not cases or not all(isinstance(values, dict) for values in cases):
            raise invalid(f'"cases" has no array "{kind}" of one object or more.')
    draft.setdefault("entry", FORMS[draft["form"]])
    draft.setdefault("seed", DEFAULT_SEED)
    return draft, bundle["files"], bundle["alone"]


def describe_once(draft, files, device, alone, is_last):
    """task.json; None: there was no memory, and another try may find some."""
    try:
        return write_task(Describer(draft, files, device, alone).describe())
    except BaseException as error:
        failure = error if isinstance(error, Failure) else failure_of("Python", error, "could not be run:")
        if is_last or failure.code != "judge_memory":
            raise failure
    return None


def make_room():
    gc.collect()
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def describe(text, device):
    draft, files, alone = read_draft(text)
    tries = 1 if alone else TRIES
    for number in range(tries):
        task = describe_once(draft, files, device, alone, number == tries - 1)
        if task is not None:
            return task
        make_room()
        time.sleep(random.SystemRandom().uniform(*PAUSE_S))  # the other generator is seeded everywhere alike
