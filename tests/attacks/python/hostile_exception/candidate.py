"""Raises an exception that raises another when it is asked what it says."""

class Mute(Exception):
    def __str__(self):
        raise RuntimeError("nothing is said")


def vector_add(a, b, c, n, queue):
    raise Mute()
