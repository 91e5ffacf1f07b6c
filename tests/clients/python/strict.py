"""Runs the tests of a module. A warning, such as an unclosed socket, and an exception in a thread or at the end of an
object, which Python only prints, are failures."""

import gc
import sys
import threading
import unittest
import warnings

ignored = []


def note(kind):
    def hook(what):
        # What a test raises on purpose in a thread, to see that it is printed, is an Expected.
        if getattr(what.exc_type, "__name__", "") != "Expected":
            ignored.append(f"{kind}: {what.exc_type.__name__}: {what.exc_value}")

    return hook


warnings.simplefilter("error")
sys.unraisablehook = note("ignored")
threading.excepthook = note("in a thread")
# The runner would set the warnings back to its own choice.
program = unittest.main(sys.argv[1], argv=[sys.argv[1], *sys.argv[2:]], exit=False, warnings="error")
gc.collect()
print(*ignored, sep="\n", file=sys.stderr)
sys.exit(not program.result.wasSuccessful() or bool(ignored))
