"""Makes Plans of cases: all that an agent is told about a trial, in the engine's own words.

The driver follows from the URL's scheme, the requests from the workload, the times from the load.
Absent: how a system came to be at its URL, and what the engine does with a Plan.
"""

import hashlib
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchlab.load.bulk import hastened
from benchlab.load.directory import below
from benchlab.load.drivers import driver, tls
from benchlab.load.workloads import BUILT_IN
from benchlab.load.workloads.asked import Asked, BuiltIn, Held, body_text, readable
from benchlab.model.errors import InputError
from benchlab.model.experiment import (
    Block,
    Case,
    Expect,
    Load,
    Operation,
    Transaction,
    Workload,
)
from benchlab.model.grammar import LATER
from benchlab.model.schemes import ASKED_BY, SCHEMES
from benchlab.model.tree import from_plain, join, nearest

VERSION = 1
_NS = 1_000_000_000


def make_plan(
    case: Case,
    *,
    urls: Sequence[str],
    seed: int,
    session: int,
    block: int,
    cpus: Sequence[int] = (),
    folder: Path = Path(),
) -> dict[str, Any]:
    """The Plan of one trial.

    Args:
        case: What is asked, and when.
        urls: Where the system is: its URLs, or `sqlite:` and the path of a database.
        seed: The experiment's. Keys and arrivals follow from it, the session and the block, so that
            all cases of a block meet the same ones; contents follow from it alone, as the data do.
        session: From 0.
        block: From 0.
        cpus: Cores of the agent; empty when it is not pinned.
        folder: Where the files are that bodies and `tls.ca` name.

    Raises:
        InputError: when this version cannot ask that of such a URL.
    """
    load = case.load
    scheme = _scheme(urls)
    at_once = load.connections if load.is_open else (load.clients or 1) // load.pipeline
    return {
        "version": VERSION,
        "seeds": seeds(seed, session, block),
        "driver": driver(case, urls),
        "workload": _workload(_asked(case, scheme, urls, folder), urls),
        "schedule": _schedule(load),
        "warmup_ns": _ns(load.warmup),
        "stop": _stop(load),
        "timeout_ns": _ns(load.timeout),
        "connection": load.connection,
        "pipeline": load.pipeline,
        **tls(case, urls, folder),
        "workers": max(1, min(len(cpus), at_once or 1)),
        "cpus": list(cpus),
    }


def loading_plan(
    case: Case,
    *,
    urls: Sequence[str],
    seed: int,
    cpus: Sequence[int] = (),
    folder: Path = Path(),
) -> dict[str, Any] | None:
    """The Plan that brings a case's data into a system, or None where none are to be brought.

    Raises:
        InputError: when the workload cannot be loaded there, or does not say where.
    """
    scheme = _scheme(urls)
    found = _built_in(case, scheme)
    if found is None and scheme == "file" and not case.system.at:
        return _laying_out(case, urls, seed, cpus)
    loading = None if found is None else found[0].load(found[1], scheme)
    if loading is None and case.system.at and case.workload.into is not None:
        raise InputError("it has no data to be put anywhere", key="workload.data.into")
    if loading is None or (case.workload.existing and case.system.at):
        return None
    if case.system.at and case.workload.into is None:
        what = (
            f"{case.system_name} is already running: write `into: NAME` for data that are made "
            "there and taken away again, or `data: existing` to use what is there"
        )
        raise InputError(what, key="workload.data")
    plan = errand(case, loading.asked, loading.transactions, urls, seed, cpus, folder)
    if scheme == "sqlite" and not case.system.at:
        # A crash while loading costs a fresh start anyway, so nothing waits for the disk.
        plan["driver"]["pragmas"] = plan["driver"]["pragmas"] | {"synchronous": "off"}
    return hastened(plan)


def finding_plan(
    case: Case, *, urls: Sequence[str], seed: int, folder: Path = Path()
) -> dict[str, Any] | None:
    """The Plan that asks whether a case's data are there, all answers to which are right then."""
    scheme = _scheme(urls)
    found = _built_in(case, scheme)
    finding = None if found is None else found[0].find(found[1], scheme)
    if finding is None:
        return None
    return hastened(errand(case, finding.asked, finding.transactions, urls, seed, (), folder))


def held(case: Case, urls: Sequence[str]) -> Held | None:
    """What holds a case's data at these URLs, if it has any."""
    scheme = _scheme(urls)
    found = _built_in(case, scheme)
    loading = None if found is None else found[0].load(found[1], scheme)
    return None if loading is None else loading.held


def errand(
    case: Case,
    asked: Asked,
    transactions: int,
    urls: Sequence[str],
    seed: int = 0,
    cpus: Sequence[int] = (),
    folder: Path = Path(),
) -> dict[str, Any]:
    """The Plan of one client that asks something so many times, one after another."""
    return {
        "version": VERSION,
        "seeds": seeds(seed, 0, 0),
        "driver": driver(case, urls),
        "workload": _workload(asked, urls),
        "schedule": {"closed": {"clients": 1}},
        "warmup_ns": 0,
        "stop": {"transactions": transactions},
        "timeout_ns": _ns(60.0),
        **tls(case, urls, folder),
        "cpus": list(cpus[:1]),
    }


LAID_BYTES = 2**23
"""The block in which a file is laid out, where that fits into its size."""


def _laying_out(case: Case, urls: Sequence[str], seed: int, cpus: Sequence[int]) -> dict[str, Any]:
    """The Plan that writes a file from its beginning to its end, and waits until it is kept."""
    size: int = driver(case, urls)["size_bytes"]
    block = math.gcd(size, LAID_BYTES)
    write = Operation(name="write", write=Block(bytes=block))
    sync = Operation(name="sync", sync="data")
    laying = Transaction(name="lay out", operations=(write, sync))
    return errand(case, Asked((laying,)), size // block, urls, seed, cpus)


def seeds(seed: int, session: int, block: int) -> dict[str, int]:
    """The seeds of a trial, 64 bits each; the case takes no part in them."""
    return {
        "keys": _derived(seed, "keys", session, block),
        "values": _derived(seed, "values"),
        "arrivals": _derived(seed, "arrivals", session, block),
        "faults": _derived(seed, "faults", session, block),
    }


def _derived(*parts: int | str) -> int:
    text = "/".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def _ns(seconds: float) -> int:
    return round(seconds * _NS)


def _scheme(urls: Sequence[str]) -> str:
    if not urls:
        raise InputError("there is no URL to ask")
    schemes = {url.partition(":")[0] for url in urls}
    scheme = sorted(schemes)[0]
    if len(schemes) > 1:
        raise InputError(
            f"the URLs of one system differ in their scheme: {', '.join(sorted(schemes))}"
        )
    if scheme not in SCHEMES:
        listed = ", ".join(f"{name}:" for name in SCHEMES)
        what = f"a driver for {scheme}: {LATER}, which speaks {listed}"
        raise InputError(what, nearest=nearest(scheme, SCHEMES))
    return scheme


def _built_in(case: Case, scheme: str) -> tuple[BuiltIn, Workload] | None:
    """The built-in workload of a case, and what it is given with units read."""
    name = case.workload.name
    if name is None:
        return None
    if name not in BUILT_IN:
        raise InputError(
            f"no workload {name!r}", key="workload.name", nearest=nearest(name, BUILT_IN)
        )
    built_in = BUILT_IN[name]
    if scheme not in built_in.schemes:
        listed = ", ".join(f"{other}:" for other in built_in.schemes)
        what = f"{name} asks {listed} in this version; {case.system_name} is {scheme}:"
        raise InputError(what, key="workload.name")
    options = built_in.keys.options.read(from_plain(case.workload.options), "workload.options")
    data = built_in.keys.data.read(from_plain(case.workload.data), "workload.data")
    running = bool(case.system.at)
    return built_in, Workload(
        name=name,
        options=options,
        data=data,
        into=case.workload.into if running else None,
        existing=running and case.workload.existing,
    )


def _asked(case: Case, scheme: str, urls: Sequence[str], folder: Path) -> Asked:
    found = _built_in(case, scheme)
    if found is None:
        mix = tuple(_with_files(transaction, folder) for transaction in case.workload.mix)
        return Asked(mix, case.workload.values)
    built_in, workload = found
    return built_in.ask(workload, urls, folder, case.name)


def _with_files(transaction: Transaction, folder: Path) -> Transaction:
    key = join("workload.mix", transaction.name)

    def found(operation: Operation) -> Operation:
        body = body_text(operation.body, folder, join(key, "body"))
        name = operation.body_file
        file = name and readable(name, folder, join(key, "body_file"))
        return operation.model_copy(update={"body": body, "body_file": file})

    operations = tuple(found(operation) for operation in transaction.operations)
    return transaction.model_copy(update={"operations": operations})


def _workload(asked: Asked, urls: Sequence[str]) -> dict[str, Any]:
    return {
        "values": asked.values,
        "transactions": [_transaction(transaction, urls) for transaction in asked.transactions],
    }


def _transaction(transaction: Transaction, urls: Sequence[str]) -> dict[str, Any]:
    key = join("workload.mix", transaction.name)
    return {
        "name": transaction.name,
        "weight": transaction.weight,
        "operations": [_operation(operation, urls, key) for operation in transaction.operations],
    }


def _operation(operation: Operation, urls: Sequence[str], key: str) -> dict[str, Any]:
    scheme = _scheme(urls)
    speaks = SCHEMES[scheme].speaks
    if operation.speaks != speaks:
        what = f"{operation.name!r} is not for {scheme}:, which is asked {ASKED_BY[speaks]}"
        raise InputError(what, key=key)
    request: dict[str, Any]
    if operation.sql is not None:
        request = {"sql": operation.sql}
    elif operation.command is not None:
        request = {"command": list(operation.command)}
    elif operation.speaks == "file":
        request = {"file": _file(operation)}
    elif operation.ldap is not None:
        request = {"ldap": below(operation.ldap, urls[0])}
    else:
        request = {
            "http": {
                "method": operation.method,
                "path": operation.path,
                "headers": [list(header) for header in operation.headers],
                "body": operation.body,
                **_set(body_file=operation.body_file, chunk_bytes=operation.chunks),
            }
        }
    return {
        "name": operation.name,
        "request": request,
        "expect": _expect(operation.expect),
        "for_each": operation.for_each,
    }


def _file(operation: Operation) -> dict[str, Any]:
    if operation.sync is not None:
        return {"sync": operation.sync}
    verb = "read" if operation.read is not None else "write"
    block = operation.read or operation.write
    assert block is not None
    return {verb: {"at": block.at, "bytes": block.bytes}}


def _expect(expect: Expect) -> dict[str, Any]:
    found: dict[str, Any] = {"intact": True} if expect.intact else {}
    return found | {
        "status": None if expect.status is None else list(expect.status),
        "body": expect.body,
        "contains": expect.contains,
        "headers": [list(header) for header in expect.headers.items()],
        **_set(size=expect.size),
        "reply": expect.reply,
        "rows": expect.rows,
        "first": expect.first,
        "keyed": expect.keyed,
    }


def _set(**keys: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {key: value for key, value in keys.items() if value is not None}


def _schedule(load: Load) -> dict[str, Any]:
    if not load.is_open:
        think = {"constant_ns": _ns(load.think)} if load.think else "none"
        return {"closed": {"clients": load.clients, "think": think}}
    return {
        "open": {
            "arrivals": load.arrivals,
            "connections": load.connections,
            "shape": [
                {"from_per_second": begin, "to_per_second": end, "length_ns": _ns(length_s)}
                for begin, end, length_s in segments(load)
            ],
        }
    }


def segments(load: Load) -> Iterable[tuple[float, float, float]]:
    """An open load's rate as straight lines: rate at the beginning, at the end, length in seconds.

    Raises:
        InputError: when the shape ends in a step for which no time is left.
    """
    assert load.rate is not None
    rate, used, stepped = load.rate, 0.0, False
    for part in load.shape:
        if part.step is not None:
            rate, stepped = part.step, True
            continue
        length_s = part.over if part.to is not None else part.hold
        assert length_s is not None
        end = rate if part.to is None else part.to
        yield rate, end, length_s
        rate, used, stepped = end, used + length_s, False
    left = (load.duration or 1.0) - used
    if left > 1e-9:
        yield rate, rate, left
    elif stepped:
        raise InputError("ends in a step for which no time is left", key="load.shape")


def _stop(load: Load) -> dict[str, int]:
    if load.per_client is not None:
        return {"per_client": load.per_client}
    if load.transactions is not None:
        return {"transactions": load.transactions}
    assert load.duration is not None
    return {"duration_ns": _ns(load.duration)}
