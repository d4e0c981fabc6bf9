"""Closes what the traceback would be written to, and raises an exception while it is imported."""

import sys

sys.stdout.close()
sys.stderr.close()
raise ValueError("not today")
