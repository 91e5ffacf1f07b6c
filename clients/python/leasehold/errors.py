"""Answers that are not what was asked for.

    LeaseholdError
      Refused        the server said no
        Held         others hold the key
        Gone         the lease is not alive any more
        Busy         an open transaction is using the lease: ask again in a moment
      Fault          there is no answer, or none that settles the question; see `effect`
        BadRequest   the request itself is wrong; also a ValueError
      LeaseLost      a lease that was kept alive is lost
"""

import re
from typing import List, Optional, Union

from .values import Holder

# Control characters, and characters that break lines, change the direction of writing or stay invisible.
_ACTS_ON_TERMINAL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)


class LeaseholdError(Exception):
    """The text is one line that is safe to print, whatever a server or another user wrote."""

    def __init__(self, detail: str) -> None:
        super().__init__(_ACTS_ON_TERMINAL.sub(" ", detail))


class Refused(LeaseholdError):
    """The text says why, in words for people."""

    code = ""


class Held(Refused):
    code = "held"

    def __init__(self, detail: str, holders: List[Holder], holders_in_all: int, retry_after: float = 0.0) -> None:
        super().__init__(detail)
        self.holders = holders  # the first ones: at most 16, and fewer if their texts are long
        self.holders_in_all = holders_in_all
        self.retry_after = retry_after


class Gone(Refused):
    code = "gone"

    def __init__(self, detail: str, reason: str, by: str = "", why: str = "") -> None:
        super().__init__(detail)
        self.reason = reason  # expired, released, taken, broken or unknown
        self.by = by
        self.why = why


class Busy(Refused):
    code = "busy"


class Fault(LeaseholdError):
    """`effect` is "none" if nothing was done, and "unknown" if the request may have been carried out. After
    "unknown", repeat the request with the same lock id: that is safe, and its answer is the truth."""

    def __init__(
        self,
        detail: str,
        *,
        effect: str,
        cause: str = "unavailable",
        status: int = 0,
        code: str = "",
        retry_after: float = 0.0,
        longest_wait: Optional[float] = None,
    ) -> None:
        super().__init__(detail)
        self.effect = effect
        self.cause = cause  # unavailable, clock_leap, configuration, not_allowed, internal, lock_id_in_use, too_large
        self.status = status  # of HTTP; 0 if there was no answer
        self.code = code  # of the server's answer, such as "overloaded"
        self.retry_after = retry_after  # seconds
        self.longest_wait = longest_wait  # of the server, if the wait was longer than that

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later."""
        return self.cause in ("unavailable", "clock_leap", "internal")


class BadRequest(Fault, ValueError):
    def __init__(self, detail: str, **more: object) -> None:
        super().__init__(detail, **{"effect": "none", "cause": "configuration", "code": "bad_request", **more})  # type: ignore[arg-type]


class LeaseLost(LeaseholdError):
    """`reason` is the refusal of a renewal, or the last fault if no renewal was confirmed in time."""

    def __init__(self, detail: str, reason: Union[Refused, Fault]) -> None:
        super().__init__(detail)
        self.reason = reason
