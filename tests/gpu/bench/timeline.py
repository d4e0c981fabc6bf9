"""
What a kgraded that was started with KGRADE_TIMELINE=1 wrote about the last grade: timeline.py LOG [GRADES].

Requests one after the other, those of samples in sums; `between` is the grader's own time, from one request's end to the next one's start.
"""
import sys

PAUSE_MS = 1500  # between two grades
SAMPLES = {"prepare", "run", "snapshot", "decide", "fill", "batch", "run_batch"}


def spans(path):
    with open(path, errors="replace") as file:
        for line in file:
            words = line.split()
            if words[:1] == ["timeline"] and len(words) > 3:
                yield float(words[1]), float(words[2]), words[3], " ".join(words[4:])


def grades(path):
    grade, end = [], None
    for span in sorted(spans(path)):
        if end is not None and span[0] > end + PAUSE_MS:
            yield grade
            grade = []
        grade.append(span)
        end = max(end or 0, span[0] + span[1])
    if grade:
        yield grade


def flush(sums, between):
    if sums:
        print("    " + ", ".join(f"{n} {op} {ms:.1f}" for op, (n, ms) in sums.items()) + f", between {between:.1f}")
    sums.clear()


def show(grade):
    first, end = grade[0][0], grade[0][0]
    sums, between = {}, 0.0
    for start, took, op, more in grade:
        gap = max(0.0, start - end)
        if op in SAMPLES:
            between = between + gap if sums else gap
            n, ms = sums.get(op, (0, 0.0))
            sums[op] = n + 1, ms + took
        else:
            flush(sums, between)
            words = more.split()
            parts = more if len(words) > 1 else ""
            print(f"{start - first:9.1f} {took:8.1f} ms  {op:<10} {parts}" + (f"  after {gap:.1f} between" if gap >= 1 else ""))
        end = max(end, start + took)
    flush(sums, between)
    print(f"{end - first:9.1f} ms in all, {end - first - covered(grade):.1f} of them between requests")


def covered(grade):
    """Several threads may ask at a time."""
    total = at = 0.0
    for start, took, _, _ in grade:
        total += max(0.0, start + took - max(start, at))
        at = max(at, start + took)
    return total


found = list(grades(sys.argv[1]))
for one in found[-int(sys.argv[2]) if len(sys.argv) > 2 else -1:]:
    show(one)
