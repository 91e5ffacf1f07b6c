"""The holder's own clock. It never goes back, and keeps running while the machine sleeps, as the server's does."""

import sys
import time

if hasattr(time, "CLOCK_BOOTTIME"):  # Linux, where CLOCK_MONOTONIC stops while the machine sleeps

    def now() -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

elif sys.platform == "darwin":  # here it is time.monotonic() that stops

    def now() -> float:
        return time.clock_gettime(time.CLOCK_MONOTONIC)

else:
    now = time.monotonic

# A wait does not count the time while the machine sleeps, but now() does: so look at the clock often.
LONGEST_NAP = 1.0
