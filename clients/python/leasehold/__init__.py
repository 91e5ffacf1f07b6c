"""The client of Leasehold: locks that outlive a request, a transaction and a process.

    client = leasehold.Client("http://127.0.0.1:7470")
    with client.lock("Order/1", owner="alice") as lease:
        save(order, fence=lease.fence)
"""

from . import batch
from .aio import AsyncClient, AsyncEventStream, AsyncHeldLease, AsyncLock
from .client import Client
from .errors import BadRequest, Busy, Fault, Gone, Held, LeaseholdError, LeaseLost, Refused
from .events import EventStream
from .held import HeldLease, Lock
from .values import Event, Holder, Holders, Key, Knock, Lease, PastLease, new_lock_id

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "AsyncEventStream",
    "AsyncHeldLease",
    "AsyncLock",
    "BadRequest",
    "Busy",
    "Client",
    "Event",
    "EventStream",
    "Fault",
    "Gone",
    "Held",
    "HeldLease",
    "Holder",
    "Holders",
    "Key",
    "Knock",
    "Lease",
    "LeaseLost",
    "LeaseholdError",
    "Lock",
    "PastLease",
    "Refused",
    "batch",
    "new_lock_id",
]
