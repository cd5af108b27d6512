"""The null server: the ruler itself, measured.

A server that does nothing but answer tells how fast the agent can ask under a Plan (the *ceiling*)
and what the path between them costs at the rate a system reached (the *floor*). Absent: what is
concluded from them.
"""

import contextlib
import copy
import json
import math
import os
import select
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from benchlab.host.processes import Leash
from benchlab.load import agent
from benchlab.model.errors import HostError
from benchlab.model.schemes import SCHEMES
from benchlab.store import files

WARMUP_NS = 500_000_000
CEILING_NS = 2_000_000_000
FLOOR_NS = 3_000_000_000
RUNS_S = (2 * WARMUP_NS + CEILING_NS + FLOOR_NS) / 1e9
"""How long both take at most."""
RATE_STEP = 1.25
"""Rates within a factor of this share a floor."""
SIZE_STEP = 1.1
"""Answers whose sizes are within a factor of this are taken for equal."""
LISTEN_S = 10.0


@dataclass(frozen=True)
class Answer:
    """What the null server says: as much as the system under test did."""

    status: int
    body_bytes: int


def has_null(plan: Mapping[str, Any]) -> bool:
    """Whether there is a null server for the Plan's protocol."""
    # One that begins in the clear it does not encrypt.
    return plan["driver"]["kind"] in _HEAD_BYTES and not plan["driver"].get("start_tls")


def scheme_of(plan: Mapping[str, Any]) -> str:
    """The scheme of the Plan's targets; where it is encrypted, the null server encrypts too."""
    return str(plan["driver"]["targets"][0]).partition(":")[0]


def answer(plan: Mapping[str, Any], bytes_in: float) -> Answer:
    """The answer in place of a system's: a status the Plan expects, and about as many bytes.

    `bytes_in` is what an operation of the system brought, head included.
    """
    statuses = {
        status
        for transaction in plan["workload"]["transactions"]
        for operation in transaction["operations"]
        for status in (operation.get("expect") or {}).get("status") or (200,)
    }
    content = bytes_in - _HEAD_BYTES[str(plan["driver"]["kind"])]
    return Answer(
        min(statuses), round(SIZE_STEP ** _step(content, SIZE_STEP)) if content > 1 else 0
    )


_HEAD_BYTES = {
    "http": 100,
    "ldap": 90,
    "memcached": 32,
    "mysql": 90,
    "postgresql": 100,
    "redis": 8,
}
"""About what an answer takes beside its content, by the driver."""


def key(plan: Mapping[str, Any], reply: Answer, rate: float) -> str:
    """Names what the null runs depend on: the Plan's shape, the answer, and about the rate."""
    return f"{shape_key(plan, reply)}-{_step(rate, RATE_STEP) if rate > 0 else 0}"


def _step(value: float, factor: float) -> int:
    """The nearest power of the factor."""
    return round(math.log(value, factor))


def shape_key(plan: Mapping[str, Any], reply: Answer) -> str:
    """Names what the ceiling depends on: requests, connections and answer, not times and seeds."""
    shape = {
        "workload": plan["workload"],
        "connections": connections(plan),
        "connection": plan.get("connection"),
        "pipeline": _pipeline(plan),
        "scheme": scheme_of(plan),
        "workers": plan.get("workers"),
        "cpus": plan.get("cpus"),
        "answer": [reply.status, reply.body_bytes],
    }
    return blake2b(json.dumps(shape, sort_keys=True).encode(), digest_size=6).hexdigest()


def connections(plan: Mapping[str, Any]) -> int:
    """Connections of a Plan's schedule."""
    (kind, schedule) = next(iter(plan["schedule"].items()))
    if kind == "closed":
        return int(schedule["clients"]) // _pipeline(plan)
    return int(schedule["connections"])


def _pipeline(plan: Mapping[str, Any]) -> int:
    """Transactions under way on a connection."""
    return int(plan.get("pipeline", 1))


def ceiling_plan(plan: Mapping[str, Any], url: str) -> dict[str, Any]:
    """The Plan at full speed against the null server."""
    made = _against(plan, url)
    made["schedule"] = {"closed": {"clients": connections(plan) * _pipeline(plan)}}
    made["stop"] = {"duration_ns": CEILING_NS}
    return made


def floor_plan(plan: Mapping[str, Any], url: str, rate: float) -> dict[str, Any]:
    """The Plan at a system's rate, with as many connections, against the null server."""
    made = _against(plan, url)
    segment = {"from_per_second": rate, "to_per_second": rate, "length_ns": FLOOR_NS}
    made["schedule"] = {"open": {"connections": connections(plan), "shape": [segment]}}
    made["stop"] = {"duration_ns": FLOOR_NS}
    return made


def measure(
    plan: Mapping[str, Any],
    folder: Path,
    *,
    reply: Answer,
    rate: float,
    cpus: Sequence[int],
    leash: Leash,
    ceiling: Path | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Leaves `ceiling` and `floor` in the folder, on the cores where the system was.

    A ceiling that was measured under the same shape is taken over. False when it was stopped
    before both were whole; the folder is then not there.
    """
    draft = folder.with_name(f".{folder.name}")
    shutil.rmtree(draft, ignore_errors=True)
    with files.writing(draft):
        for which in ("ceiling", "floor"):
            (draft / which).mkdir(parents=True)
    with _server(plan, reply, cpus, leash, draft / "null.log") as url:
        if ceiling is not None:
            with files.writing(draft):
                shutil.copytree(ceiling, draft / "ceiling", dirs_exist_ok=True)
        else:
            agent.run(
                ceiling_plan(plan, url), draft / "ceiling", leash=leash, should_stop=should_stop
            )
        if rate > 0 and not should_stop():
            agent.run(
                floor_plan(plan, url, rate), draft / "floor", leash=leash, should_stop=should_stop
            )
    if should_stop():
        shutil.rmtree(draft)
        return False
    draft.replace(folder)
    return True


def _against(plan: Mapping[str, Any], url: str) -> dict[str, Any]:
    made = copy.deepcopy(dict(plan))
    # It is one server that has every key.
    alone = {"sharding": None, "cluster": False}
    made["driver"] |= {name: value for name, value in alone.items() if name in made["driver"]}
    made["driver"]["targets"] = [url]
    if "password" in made["driver"]:
        # Everyone is let in, and none but a database's asks for a name.
        made["driver"]["password"] = None
        if made["driver"]["kind"] not in ("mysql", "postgresql"):
            made["driver"]["user"] = None
    made.pop("tls", None)
    if SCHEMES[scheme_of(plan)].encrypted:
        # The null server's certificate is its own.
        made["tls"] = {"verify": False}
    made["warmup_ns"] = WARMUP_NS
    for transaction in made["workload"]["transactions"]:
        for operation in transaction["operations"]:
            # The null server's answer has the size of the system's, not its content.
            expect = operation.get("expect") or {}
            operation["expect"] = {"status": expect["status"]} if expect.get("status") else {}
    return made


@contextlib.contextmanager
def _server(
    plan: Mapping[str, Any], reply: Answer, cpus: Sequence[int], leash: Leash, log: Path
) -> Iterator[str]:
    kind, scheme = str(plan["driver"]["kind"]), scheme_of(plan)
    answers = {
        "http": ("--status", str(reply.status), "--body-bytes", str(reply.body_bytes)),
        "memcached": ("--value-bytes", str(reply.body_bytes)),
        "mysql": ("--text-bytes", str(reply.body_bytes)),
        "postgresql": ("--column", "x" * reply.body_bytes),
        "redis": ("--value-bytes", str(reply.body_bytes)),
        "ldap": ("--attribute", "description:" + "x" * reply.body_bytes),
    }
    told, telling = os.pipe()
    # The server ends when its standard input does, so that end is held open here.
    stdin, held = os.pipe()
    with os.fdopen(told, "rb", buffering=0) as lines, os.fdopen(held, "wb"):
        with os.fdopen(telling, "wb") as end, os.fdopen(stdin, "rb") as given:
            process = leash.start(
                [
                    *(str(agent.binary("nullserver")), kind, "--listen", "127.0.0.1:0"),
                    *answers[kind],
                    *(["--tls"] if SCHEMES[scheme].encrypted else []),
                ],
                cpus=cpus,
                stdin=given,
                stdout=end,
                log=log,
            )
        try:
            yield f"{scheme}://{_listening(lines.fileno(), log)}"
        finally:
            process.stop(1.0)


def _listening(lines: int, log: Path) -> str:
    deadline = time.monotonic() + LISTEN_S
    said = b""
    while b"\n" not in said:
        readable, _, _ = select.select([lines], [], [], max(0.0, deadline - time.monotonic()))
        data = os.read(lines, 4096) if readable else b""
        if not data:
            words = log.read_text("utf-8", "replace").strip() if log.exists() else ""
            raise HostError(f"the null server did not start: {words or 'it said nothing'}")
        said += data
    return str(json.loads(said.splitlines()[0])["listening"])
