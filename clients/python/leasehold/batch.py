"""The requests of a batch: `client.batch([batch.try_lock("Order/1", owner="bob"), batch.release(lease)])`."""

from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Union

from . import wire
from .errors import Fault, Refused
from .values import AnyKey, Holder, Holders, Lease, Leased, Seconds, key_of, new_lock_id

Answer = Union[Lease, List[Lease], Holder, List[Holder], Holders, Refused, Fault]


@dataclass(frozen=True)
class BatchRequest:
    fields: Mapping[str, Any]
    read: Callable[[Mapping[str, Any], float], Answer]  # takes the answer's JSON, and when it was asked
    only_reads: bool = False
    repeatable: bool = True  # see wire.Request


def try_lock(
    key: AnyKey,
    *,
    owner: str = "",
    ttl: Optional[Seconds] = None,
    mode: str = "exclusive",
    places: Optional[int] = None,
    note: str = "",
    since: Optional[int] = None,
    max_hold: Optional[Seconds] = None,
    lock_id: Optional[str] = None,
) -> BatchRequest:
    """Takes a key. Answered with a Lease, or with Held."""
    named = key_of(key)
    fields = _of("try", named, lock_id or new_lock_id(), **wire.terms(owner, ttl, mode, places, note, max_hold, since))
    return BatchRequest(fields, lambda answer, asked_at: wire.lease(answer["lease"], asked_at, named))


def try_all(
    keys: Iterable[AnyKey],
    *,
    owner: str = "",
    ttl: Optional[Seconds] = None,
    mode: str = "exclusive",
    places: Optional[int] = None,
    note: str = "",
    max_hold: Optional[Seconds] = None,
) -> BatchRequest:
    """Takes all keys or none. Answered with a list of leases in the order of the keys, or with Held."""
    named = [key_of(key) for key in keys]
    rows = [{"type": kind, "id": name, "lock_id": new_lock_id()} for kind, name in named]
    fields = {"op": "try_all", "keys": rows, **wire.terms(owner, ttl, mode, places, note, max_hold)}
    return BatchRequest(fields, lambda answer, asked_at: list(wire.leases(answer["leases"], asked_at, named)))


def check(lease: Union[Leased, AnyKey], lock_id: Optional[str] = None) -> BatchRequest:
    """Answered with the lease, or with Gone."""
    return _about("check", lease, lock_id, only_reads=True)


def renew(
    lease: Union[Leased, AnyKey], lock_id: Optional[str] = None, *, ttl: Seconds, max_hold: Optional[Seconds] = None
) -> BatchRequest:
    """Answered with the lease, or with Gone."""
    more = wire.without_none(ttl_ms=wire.milliseconds(ttl), max_hold_ms=wire.milliseconds(max_hold))
    return _about("renew", lease, lock_id, **more)


def extend(lease: Union[Leased, AnyKey], lock_id: Optional[str] = None, *, by: Seconds) -> BatchRequest:
    """Answered with the lease, or with Gone. A batch with an extension is not sent again after an unknown effect."""
    return _about("extend", lease, lock_id, repeatable=False, extend_ms=wire.milliseconds(by))


def release(lease: Union[Leased, AnyKey], lock_id: Optional[str] = None) -> BatchRequest:
    """Answered with the lease that ended, or with Gone if it had ended before."""
    return _about("release", lease, lock_id)


def release_all(owner: str, *, below: bool = False) -> BatchRequest:
    """Answered with the leases that ended. A batch with it is not sent again after an unknown effect."""
    fields = {"op": "release_all", "owner": owner, **({"scope": "below"} if below else {})}
    return BatchRequest(fields, lambda answer, _: [wire.ended_lease(one) for one in answer["leases"]], repeatable=False)


def holders(key: AnyKey) -> BatchRequest:
    """Answered with Holders."""
    kind, name = key_of(key)
    return BatchRequest(
        {"op": "holders", "type": kind, "id": name}, lambda answer, _: wire.holders(answer), only_reads=True
    )


def _of(op: str, key: AnyKey, lock_id: str, **more: Any) -> Dict[str, Any]:
    kind, name = key_of(key)
    return {"op": op, "type": kind, "id": name, "lock_id": lock_id, **more}


def _about(
    op: str,
    lease: Union[Leased, AnyKey],
    lock_id: Optional[str],
    *,
    only_reads: bool = False,
    repeatable: bool = True,
    **more: Any,
) -> BatchRequest:
    key, lock_id = wire.named(lease, lock_id)
    return BatchRequest(
        _of(op, key, lock_id, **more),
        lambda answer, asked_at: wire.lease(answer["lease"], asked_at, key, lock_id),
        only_reads,
        repeatable,
    )
