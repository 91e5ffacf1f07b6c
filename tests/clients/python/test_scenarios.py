"""clients/scenarios.json, executed by the blocking and by the asyncio client."""

import json
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import support
from support import AsyncClientAsBlocking, Background, Host

import leasehold
from leasehold import batch

SCENARIOS = json.loads((support.ROOT / "clients/scenarios.json").read_text(encoding="utf-8"))["scenarios"]


class Variables(dict):
    """`$name`: a lock id that is drawn at the first use in a request, or what an answer had at the first use there."""

    def fill(self, value):
        if isinstance(value, str) and value.startswith("$"):
            return self.setdefault(value, leasehold.new_lock_id())
        return value


def mismatch(expected, actual, variables, where="answer"):
    """What is wrong with the answer; None if nothing is."""
    if isinstance(expected, str) and expected.startswith("$"):
        expected = variables.setdefault(expected, actual)
    operators = {
        "at_least": lambda bound: actual >= bound,
        "at_most": lambda bound: actual <= bound,
        "greater_than": lambda name: actual > variables[name],
        "one_of": lambda values: actual in values,
    }
    if isinstance(expected, dict) and expected and set(expected) <= set(operators):
        wrong = [name for name, bound in expected.items() if not operators[name](bound)]
        return f"{where} is {actual!r}, not {expected}" if wrong else None
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            return f"{where} is {actual!r}"
        for name, value in expected.items():
            if name not in actual:
                return f"{where} has no {name}: {actual!r}"
            wrong = mismatch(value, actual[name], variables, f"{where}.{name}")
            if wrong:
                return wrong
        return None
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return f"{where} is {actual!r}"
        return next(filter(None, (mismatch(*pair, variables, where) for pair in zip(expected, actual))), None)
    return None if expected == actual else f"{where} is {actual!r}, not {expected!r}"


def plain(value):
    """An answer in the words of the scenarios."""
    if isinstance(value, leasehold.Lease):
        knocks = [{"by": one.by, "message": one.message} for one in value.knocks]
        return {**public(value), "lock_id": value.lock_id, "valid_for_ms": value.valid_for * 1000, "knocks": knocks}
    if isinstance(value, leasehold.PastLease):
        return {**public(value), "how": value.how, "by": value.by, "why": value.why}
    return public(value)


def public(value):
    type_, id_ = value.key
    texts = {"owner": value.owner, "mode": value.mode, "fence": value.fence, "note": value.note}
    return {"type": type_, "id": id_, **texts}


def refused(error):
    if isinstance(error, leasehold.Held):
        rest = {"holders": [plain(one) for one in error.holders], "holders_in_all": error.holders_in_all}
    elif isinstance(error, leasehold.Gone):
        rest = {"reason": error.reason, "by": error.by, "why": error.why}
    else:
        rest = {}
    return {"refused": {"code": error.code, **rest}}


def fault(error):
    return {"fault": {"effect": error.effect, "passing": error.may_pass, "retry_after_ms": error.retry_after * 1000}}


def seconds(ms):
    return None if ms is None else ms / 1000


def terms(step):
    names = ("owner", "mode", "places", "note", "since")
    given = {name: step[name] for name in names if name in step}
    return {**given, "ttl": seconds(step.get("ttl_ms")), "max_hold": seconds(step.get("max_hold_ms"))}


def in_batch(step, variables):
    what, key, lock_id = step["do"], step["key"], variables.fill(step.get("lock_id"))
    key = tuple(key)
    if what == "try":
        return batch.try_lock(key, lock_id=lock_id, **terms(step))
    if what == "renew":
        return batch.renew(key, lock_id, ttl=step["ttl_ms"] / 1000)
    if what == "holders":
        return batch.holders(key)
    return {"check": batch.check, "release": batch.release}[what](key, lock_id)


def answer_in_batch(answer):
    if isinstance(answer, leasehold.Refused):
        return refused(answer)
    if isinstance(answer, leasehold.Fault):
        return fault(answer)
    if isinstance(answer, leasehold.Holders):
        return {"holders": [plain(one) for one in answer.holders]}
    return {"lease": plain(answer)}


class Runner:
    def __init__(self, make, host, variables):
        self._make, self._host, self._variables = make, host, variables
        self._clients = {}

    def client(self, step):
        where = step.get("via", "gate"), step.get("timeout_ms", 60000)
        if where not in self._clients:
            url = getattr(self._host, where[0]).url
            self._clients[where] = self._make(url, timeout=where[1] / 1000, patience=0)
        return self._clients[where]

    def close(self):
        for client in self._clients.values():
            client.close()

    def do(self, step):
        """One request, once, and its answer in the words of the scenarios."""
        try:
            return self._ask(self.client(step), step)
        except leasehold.Refused as error:
            return refused(error)
        except leasehold.Fault as error:
            return fault(error)

    def _ask(self, client, step):
        what, fill = step["do"], self._variables.fill
        key = tuple(step["key"]) if "key" in step else None
        lock_id = fill(step.get("lock_id"))
        if what == "try" and "wait_ms" in step:
            return {"lease": plain(client.lock_for(key, step["wait_ms"] / 1000, lock_id=lock_id, **terms(step)))}
        if what == "try":
            return {"lease": plain(client.try_lock(key, lock_id=lock_id, **terms(step)))}
        if what == "check":
            return {"lease": plain(client.check(key, lock_id))}
        if what == "renew":
            return {"lease": plain(client.renew(key, lock_id, ttl=step["ttl_ms"] / 1000))}
        if what == "extend":
            return {"lease": plain(client.extend(key, lock_id, by=step["by_ms"] / 1000))}
        if what == "release":
            gone = client.release(key, lock_id)
            return {"released": True} if gone is None else refused(gone)
        if what == "holders":
            answer = client.holders(key)
            return {"holders": [plain(one) for one in answer.holders], "waiting": answer.waiting}
        if what == "knock":
            return {"holders": [plain(one) for one in client.knock(key, step["message"], owner=step["owner"])]}
        if what == "break":
            ended = client.break_lock(key, fill(step["fence"]), by=step["by"], reason=step.get("reason", ""))
            return {"ended": plain(ended)}
        if what == "try_all":
            keys = [tuple(one) for one in step["keys"]]
            return {"leases": [plain(one) for one in client.try_all(keys, **terms(step))]}
        if what == "batch":
            requests = [in_batch(one, self._variables) for one in step["requests"]]
            return {"answers": [answer_in_batch(one) for one in client.batch(requests)]}
        below = step.get("scope") == "below"
        if what == "list":
            rows = client.list(owner=step.get("owner"), below=below, page=step.get("limit"))
            return {"holders": [plain(one) for one in rows]}
        if what == "history":
            return {"history": [plain(one) for one in client.history(key, page=step.get("limit"))]}
        if what == "release_all":
            return {"ended": [plain(one) for one in client.release_all(step["owner"], below=below)]}
        raise AssertionError(f"unknown step: {what}")


def execute(make, scenario):
    variables = Variables()
    with Host(scenario.get("server")) as host:
        runner = Runner(make, host, variables)
        listeners = runner._make(host.gate.url, patience=support.PATIENCE)
        started, streams = {}, {}
        try:
            for number, step in enumerate(scenario["steps"]):
                answer = None
                if "gate" in step:
                    getattr(host.gate, step["gate"][0])(*step["gate"][1:])
                elif "server" in step:
                    getattr(host.server, step["server"][0])()
                elif "pause_ms" in step:
                    time.sleep(step["pause_ms"] / 1000)
                elif "start" in step:
                    started[step["start"]] = Background(lambda step=step: runner.do(step))
                elif "finish" in step:
                    answer = started.pop(step["finish"]).result()
                elif "listen" in step:
                    streams[step["listen"]] = listeners.events(type=step["type"])
                    streams[step["listen"]].__enter__()
                elif "heard" in step:
                    event = next(streams[step["heard"]])
                    answer = {**event.data, "event": event.name}
                elif step.get("until"):
                    expected = step["expect"]
                    done = lambda: mismatch(expected, runner.do(step), Variables(variables)) is None  # noqa: E731
                    support.eventually(done, f"step {number}: {expected}")
                    continue
                else:
                    answer = runner.do(step)
                wrong = mismatch(step["expect"], answer, variables) if "expect" in step else None
                if wrong:
                    raise AssertionError(f"step {number}: {wrong}")
            assert not started, f"never finished: {list(started)}"
        finally:
            for stream in streams.values():
                stream.close()
            listeners.close()
            runner.close()


class Scenarios(unittest.TestCase):
    """Scenarios mostly wait: some run at the same time, each with a server of its own."""

    make = leasehold.Client

    @classmethod
    def setUpClass(cls):
        cls.pool = ThreadPoolExecutor(8)
        cls.done = {one["name"]: cls.pool.submit(execute, cls.make, one) for one in SCENARIOS}

    @classmethod
    def tearDownClass(cls):
        cls.pool.shutdown()


class ScenariosOnAsyncio(Scenarios):
    make = AsyncClientAsBlocking


def add_test(name):
    method = "test " + name
    assert not hasattr(Scenarios, method), f"two scenarios have the name {name!r}"
    setattr(Scenarios, method, lambda self: self.done[name].result())


for one in SCENARIOS:
    add_test(one["name"])

if __name__ == "__main__":
    unittest.main()
