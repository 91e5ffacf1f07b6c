"""What requests and answers are made of. Times are the store's, in UTC; durations are seconds."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, List, Mapping, NamedTuple, Optional, Protocol, Tuple, Union

from . import clock

Seconds = Union[float, timedelta]


class Key(NamedTuple):
    """What is locked: a type and an id."""

    type: str
    id: str

    def __str__(self) -> str:
        return f"{self.type}/{self.id}"


AnyKey = Union[str, Key, Tuple[str, str]]


def key_of(key: AnyKey) -> Key:
    """`"Order/1"` is the type `Order` and the id `1`. A name without a slash has the type `dist_lock`, as for the
    `leasehold` command."""
    if not isinstance(key, str):
        return Key(*key)
    kind, slash, name = key.partition("/")
    return Key(kind, name) if slash else Key("dist_lock", key)


class Leased(Protocol):
    """A lease, or what has the key and the lock id of one."""

    @property
    def key(self) -> Key: ...

    @property
    def lock_id(self) -> str: ...


def new_lock_id() -> str:
    return str(uuid.uuid4())


def seconds(duration: Seconds) -> float:
    return duration.total_seconds() if isinstance(duration, timedelta) else float(duration)


@dataclass(frozen=True)
class Knock:
    """Somebody asked for the key."""

    by: str
    message: str
    at: datetime


@dataclass(frozen=True)
class Holder:
    """The public part of a lease."""

    key: Key
    owner: str
    mode: str
    fence: int
    granted_at: datetime
    expires_at: Optional[datetime]  # None: the lease lasts until it is released
    note: str
    store_now: datetime  # the store's time of this answer

    @property
    def seconds_left(self) -> Optional[float]:
        """Until the expiry, when the store answered."""
        return None if self.expires_at is None else (self.expires_at - self.store_now).total_seconds()


@dataclass(frozen=True)
class Lease(Holder):
    """A grant of a key. Everybody who knows its `lock_id` can check, renew and release it."""

    lock_id: str
    valid_until: float  # on clock.now(), counted from before the request was sent; infinite without an expiry
    knocks: Tuple[Knock, ...] = ()

    @property
    def valid_for(self) -> float:
        """Seconds for which the lease is certainly valid, unless somebody breaks it. Negative after that."""
        return self.valid_until - clock.now()

    def __repr__(self) -> str:
        return f"<Lease of {self.key} for {self.owner!r}, fence {self.fence}>"  # without the secret


@dataclass(frozen=True)
class PastLease(Holder):
    """A lease that ended."""

    how: str  # expired, released, taken, broken or unknown
    ended_at: datetime
    by: str
    why: str
    sequence: int


@dataclass(frozen=True)
class Holders:
    """Who holds a key, and which owners wait for it on this server, the next one first."""

    holders: List[Holder]
    waiting: List[str]
    store_now: datetime


@dataclass(frozen=True)
class Event:
    """`name` is granted, extended, released, expired, taken, broken, ended, knocked or reset. After a `reset`,
    events may be missing: read the list again. `data` has the fields that the server sent."""

    id: str
    name: str
    data: Mapping[str, Any]

    @property
    def key(self) -> Optional[Key]:
        return Key(self.data["type"], self.data["id"]) if "id" in self.data else None
