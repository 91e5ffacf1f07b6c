"""Requests as they are sent, and answers as they are read. No input or output happens here."""

import json
import math
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, TypeVar, Union
from urllib.parse import quote, urlencode

from .errors import BadRequest, Busy, Fault, Gone, Held, LeaseholdError, Refused
from .values import AnyKey, Holder, Holders, Key, Knock, Lease, Leased, PastLease, Seconds, key_of, seconds

T = TypeVar("T")

LONGEST_ANSWER = 64 << 20

# What comes of reading an answer that is not as the server sends it.
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError, ArithmeticError)


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    body: Optional[Mapping[str, Any]] = None
    lock_id: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    # Whether it may be sent again although the first one may have been carried out: the second changes nothing.
    repeatable: bool = False
    changes: bool = True  # whether it can change something; a GET cannot

    @property
    def effect_once_sent(self) -> str:
        return "unknown" if self.changes and self.method != "GET" else "none"

    def encoded(self, host: str, token: str) -> Tuple[Dict[str, str], bytes]:
        """Its header fields and its body."""
        headers = {"Host": host, "Accept": "application/json", **self.headers}
        body = b""
        if self.body is not None:
            body = json.dumps(self.body).encode()
            headers["Content-Type"] = "application/json"
        if self.lock_id:
            if not all(" " < letter < "\x7f" for letter in self.lock_id):
                raise BadRequest("a lock id is a UUID")
            headers["Lock-Token"] = self.lock_id
        if token:
            headers["Authorization"] = "Bearer " + token
        if self.method != "GET":
            headers["Content-Length"] = str(len(body))
        return headers, body


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]  # with names in lower case
    body: bytes
    asked_at: float  # on clock.now(), from before the request was sent


# Requests


def milliseconds(duration: Optional[Seconds]) -> Optional[float]:
    if duration is None:
        return None
    ms = seconds(duration) * 1000
    if not math.isfinite(ms):
        raise BadRequest(f"a duration must be a finite number of seconds, not {duration}")
    return int(ms) if ms == int(ms) else round(ms, 3)


def without_none(**fields: Any) -> Dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def terms(
    owner: str,
    ttl: Optional[Seconds],
    mode: str,
    places: Optional[int],
    note: str,
    max_hold: Optional[Seconds],
    since: Optional[int] = None,
) -> Dict[str, Any]:
    """The fields of a try. An infinite ttl means until the lease is released."""
    endless = ttl is not None and seconds(ttl) == math.inf
    fields = without_none(
        owner=owner or None,
        mode=mode,
        places=places,
        ttl_ms=None if endless else milliseconds(ttl),
        note=note or None,
        max_hold_ms=milliseconds(max_hold),
        since=since,
    )
    return {**fields, "ttl_ms": None} if endless else fields


def named(lease: Union[Leased, AnyKey], lock_id: Optional[str]) -> Tuple[Key, str]:
    """The key and the lock id of `call(lease)` or of `call(key, lock_id)`."""
    if not isinstance(lease, (str, tuple)):
        return lease.key, lease.lock_id
    if not lock_id:
        raise BadRequest("which lease? give a lease, or a key and a lock id")
    return key_of(lease), lock_id


def key_path(key: Key) -> str:
    for part in key:
        if part in (".", ".."):  # proxies and other clients remove them from a URL, encoded or not
            raise BadRequest("a URL cannot name a key whose type or id is '.' or '..'")
        if not part:
            raise BadRequest(f"the key {tuple(key)} has an empty part; write TYPE/ID")
    return "/v1/locks/" + "/".join(encoded(part) for part in key)


def encoded(text: str) -> str:
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise BadRequest(f"{text!r} cannot be written in UTF-8") from None


def with_query(path: str, **parameters: Any) -> str:
    given = without_none(**parameters)
    return path + "?" + urlencode(given) if given else path


# Answers


def read(response: Response, request: Request, reader: Callable[[Any, float], T]) -> T:
    """What `reader` makes of the JSON of a successful answer. Raises Refused and Fault."""
    if not 200 <= response.status < 300:
        raise problem_in(response, request)
    try:
        return reader(json.loads(response.body), response.asked_at)
    except LeaseholdError:
        raise
    except UNREADABLE as error:
        raise not_understood(request, f"{type(error).__name__}: {error}", response.status) from error


def not_understood(request: Request, what: str, status: int = 0) -> Fault:
    text = f"the answer to {request.method} was not understood: {what}"
    return Fault(text, effect=request.effect_once_sent, cause="internal", status=status)


def too_long(request: Request) -> Fault:
    return not_understood(request, f"it is longer than {LONGEST_ANSWER} bytes")


def problem_in(response: Response, request: Request) -> LeaseholdError:
    status = response.status
    try:
        problem = json.loads(response.body)
    except (ValueError, RecursionError):
        problem = None
    if not isinstance(problem, dict):
        problem = {}
    code = str(problem.get("code", ""))
    after = response.headers.get("retry-after", "")
    retry_after = float(after) if after.isascii() and after.isdigit() else 0.0
    if status in (409, 410) and code in ("held", "gone", "busy"):
        try:
            return refusal(problem, retry_after)
        except UNREADABLE as error:
            return not_understood(request, f"{type(error).__name__}: {error}", status)
    text = f"the server answered {status}: {problem.get('detail') or 'no reason given'}"
    if status == 400:
        return BadRequest(text, status=400, longest_wait=longest_wait(problem))
    # A refused request was not started. If it was started, the server says so.
    untouched = 300 <= status < 500 or problem.get("effect") == "none" or code == "overloaded"
    return Fault(
        text,
        effect="none" if untouched else request.effect_once_sent,
        cause=cause_of(status, code, problem),
        status=status,
        code=code,
        retry_after=retry_after,
    )


def longest_wait(problem: Mapping[str, Any]) -> Optional[float]:
    """In seconds, if the answer names it."""
    try:
        return float(problem["longest_wait_ms"]) / 1000
    except UNREADABLE:
        return None


def cause_of(status: int, code: str, problem: Mapping[str, Any]) -> str:
    if "cause" in problem:
        return str(problem["cause"])
    if code == "lock_id_in_use":
        return code
    if status in (401, 403):
        return "not_allowed"
    if status in (408, 429) or not 300 <= status < 500:
        return "unavailable"
    return "configuration"  # any other refusal would be repeated


def refusal(problem: Mapping[str, Any], retry_after: float = 0.0) -> Refused:
    code, detail = problem["code"], str(problem["detail"])
    if code == "gone":
        return Gone(detail, problem["reason"], problem.get("by", ""), problem.get("why", ""))
    if code == "busy":
        return Busy(detail)
    holders = [holder(one, problem["store_now"]) for one in problem["holders"]]
    return Held(detail, holders, problem["holders_in_all"], retry_after)


def fault(problem: Mapping[str, Any]) -> Fault:
    effect = "none" if problem["effect"] == "none" else "unknown"
    return Fault(str(problem["detail"]), effect=effect, cause=str(problem["cause"]), code="fault")


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def moment_or_never(text: Optional[str]) -> Optional[datetime]:
    return None if text is None else moment(text)


def public_part(data: Mapping[str, Any], store_now: str) -> Dict[str, Any]:
    return {
        "key": Key(str(data["type"]), str(data["id"])),
        "owner": str(data["owner"]),
        "mode": str(data["mode"]),
        "fence": int(data["fence"]),
        "granted_at": moment(data["granted_at"]),
        "expires_at": moment_or_never(data["expires_at"]),
        "note": str(data["note"]),
        "store_now": moment(store_now),
    }


def holder(data: Mapping[str, Any], store_now: str) -> Holder:
    return Holder(**public_part(data, store_now))


def ended_lease(data: Mapping[str, Any]) -> Holder:
    return holder(data, data["store_now"])


def past_lease(data: Mapping[str, Any], store_now: str) -> PastLease:
    return PastLease(
        **public_part(data, store_now),
        how=str(data["how"]),
        ended_at=moment(data["ended_at"]),
        by=str(data["by"]),
        why=str(data["why"]),
        sequence=int(data["sequence"]),
    )


def holders(data: Mapping[str, Any]) -> Holders:
    store_now = data["store_now"]
    rows = [holder(one, store_now) for one in data["holders"]]
    return Holders(rows, [str(owner) for owner in data.get("waiting", [])], moment(store_now))


def lease(data: Mapping[str, Any], asked_at: float, key: Optional[Key], lock_id: str = "") -> Lease:
    """A lease of this key and, if it is given, with this lock id."""
    remaining = data["remaining_ms"]
    read = Lease(
        **public_part(data, data["store_now"]),
        lock_id=str(data["lock_id"]),
        # Counted from before the request: a slow answer must shorten the lease, never lengthen it.
        valid_until=math.inf if remaining is None else asked_at + float(remaining) / 1000,
        knocks=tuple(Knock(one["by"], one["message"], moment(one["at"])) for one in data.get("knocks", ())),
    )
    if key is not None and read.key != key:
        raise ValueError("a lease of another key")
    if lock_id and read.lock_id.lower() != lock_id.lower():
        raise ValueError("a lease with another lock id")
    return read


def leases(rows: List[Mapping[str, Any]], asked_at: float, keys: List[Key]) -> List[Lease]:
    """One lease for each key, in the order of the keys."""
    by_key = {one.key: one for one in (lease(row, asked_at, None) for row in rows)}
    if len(rows) != len(keys) or set(by_key) != set(keys):
        raise ValueError("leases of other keys")
    return [by_key[key] for key in keys]
