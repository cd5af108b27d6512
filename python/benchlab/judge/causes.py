"""What else was seen while a system stalled: candidates for the cause, never more than that.

Each line of the probes that tells of background work or of want is held against the rest of its
trial. Absent: what rises with the load itself, and a system that tells nothing of what it does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchlab.judge.counted import NS, SLOT_S, Counted
from benchlab.judge.probed import Line, Probed
from benchlab.model.evidence import Candidate

Span = tuple[float, float]
USUAL = 0.8
"""The quantile of the samples elsewhere that a sample in a stall is held against."""
TIMES = 3.0
"""How many times as much it must be."""
LATE = 0.1
"""Of a stall's length: a generator this late may have made it."""
IDLE, BUSY = 0.2, 0.5
"""Of the system's usual CPU time: stopped or waiting below, at work on something else above."""
LEAST_CORES = 0.05
"""Cores' worth that a system must use otherwise, for using none to tell anything."""


@dataclass(frozen=True)
class _Sign:
    """Counters and gauges that speak for a cause, with the least that is worth a word."""

    cause: str
    counters: frozenset[str]
    least: float = 0.0


def _sign(cause: str, counters: str, least: float = 0.0) -> _Sign:
    return _Sign(cause, frozenset(counters.split()), least)


_MARIADB = (
    _sign("locks", "Innodb_row_lock_waits Innodb_row_lock_current_waits Innodb_row_lock_time"),
    _sign("locks", "Table_locks_waited Innodb_deadlocks"),
    _sign("flush of the log", "Innodb_os_log_fsyncs Innodb_log_waits"),
    _sign(
        "writing of changed pages",
        "Innodb_buffer_pool_pages_flushed Innodb_buffer_pool_wait_free Innodb_pages_written "
        "Innodb_data_written Innodb_data_fsyncs Innodb_dblwr_writes",
    ),
    _sign("reading of pages that were not in memory", "Innodb_buffer_pool_reads", 10.0),
    _sign(
        "flow control of the cluster",
        "wsrep_flow_control_sent wsrep_flow_control_recv wsrep_flow_control_paused_ns "
        "wsrep_local_recv_queue wsrep_local_send_queue",
    ),
    _sign(
        "conflicts between nodes",
        "wsrep_local_cert_failures wsrep_local_bf_aborts",
    ),
)

SIGNS: Mapping[str, tuple[_Sign, ...]] = {
    "host": (
        _sign("another guest had the processor", "steal_s", 0.05),
        _sign("the machine swapped", "swap_in_pages swap_out_pages"),
        _sign("processes waited for disks", "io_pressure_s", 0.1),
        _sign("processes waited for memory", "memory_pressure_s", 0.1),
        _sign("processes waited for a processor", "cpu_pressure_s", 0.1),
    ),
    "system": (
        _sign("written to disk", "written_bytes", 2**20),
        _sign("read from disk", "read_bytes", 2**20),
    ),
    "postgresql": (
        _sign(
            "checkpoint",
            "checkpointing checkpoints_timed checkpoints_req num_timed num_requested "
            "buffers_checkpoint buffers_written checkpoint_write_time checkpoint_sync_time "
            "write_time sync_time",
        ),
        _sign("flush of the log", "wal_sync wal_sync_time wal_write_time"),
        _sign("vacuum", "vacuuming"),
        _sign("locks", "waiting_for_lock"),
        _sign("waiting for files", "waiting_for_io blk_read_time blk_write_time"),
    ),
    "redis": (
        _sign("snapshot", "rdb_bgsave_in_progress total_forks"),
        _sign("rewriting of the log", "aof_rewrite_in_progress"),
        _sign("flush of the log", "aof_delayed_fsync"),
        _sign("full synchronisation of a replica", "sync_full"),
        _sign("eviction", "evicted_keys"),
        _sign("expiry", "expired_keys"),
    ),
    "memcached": (
        _sign("eviction", "evictions"),
        _sign("growing of the hash table", "hash_power_level"),
        _sign("crawling for expired items", "lru_crawler_starts"),
    ),
    "mariadb": _MARIADB,
    "galera": _MARIADB,
    "haproxy": (
        _sign("no free server behind it", "back_qcur"),
        _sign("a server behind it went down", "back_chkdown back_downtime"),
        _sign("servers behind it did not answer", "back_econ back_eresp back_wretr back_wredis"),
    ),
    "php-fpm": (
        _sign("all of its processes were busy", "listen_queue max_children_reached"),
        _sign("slow scripts", "slow_requests"),
    ),
    "openldap": (
        _sign("answers waited to be sent", "write_waiters", 2.0),
        _sign("no free thread", "pending_threads backload_threads", 2.0),
    ),
    "sphinx": (_sign("all of its threads were busy", "maxed_out"),),
}


def candidates(
    seen: Counted, resources: Probed, stall: Span, others: Sequence[Span], *, stood_still: bool
) -> tuple[Candidate, ...]:
    """What was out of the ordinary in a stall, most out of it first.

    Args:
        seen: The trial.
        resources: Its probes.
        stall: From when to when, on the trial's clock.
        others: Its other stalls, which are not what is usual.
        stood_still: Whether next to nothing was completed in it.
    """
    found = _generator(seen, stall)
    if stood_still:
        found += _processors(seen, resources, stall, others)
    for (source, counter, member), line in resources.lines.items():
        sign = next((s for s in SIGNS.get(source, ()) if counter in s.counters), None)
        # Sums of a system's members stand beside them; cores of the host beside nothing.
        if sign is None or (source == "system" and member):
            continue
        is_gauge = resources.own.get((source, counter), ("counter", ""))[0] == "gauge"
        inside, usual = _compared(line, stall, others, is_gauge)
        if inside is None or inside < max(sign.least, 1e-9) or inside < TIMES * usual:
            continue
        name = f"{source}.{counter}{f' {member}' if member else ''}"
        unit = _unit(resources.own.get((source, counter), ("counter", ""))[1], counter, is_gauge)
        found.append(Candidate(cause=sign.cause, sign=name, figure=inside, usual=usual, unit=unit))
    best: dict[str, Candidate] = {}
    for one in sorted(found, key=lambda one: -one.figure / max(one.usual, 1e-9)):
        best.setdefault(one.cause, one)
    return tuple(best.values())


def _compared(
    line: Line, stall: Span, others: Sequence[Span], is_gauge: bool
) -> tuple[float | None, float]:
    """The most in a stall, and what is usual elsewhere: growth a second, or a gauge's value.

    A pair of samples speaks for all the time between them; what is asked once a second is told of a
    stall by the first sample after it too.
    """
    if line.at_s.size < 3:
        return None, 0.0
    begins, ends = line.at_s[:-1], line.at_s[1:]
    lengths = np.maximum(ends - begins, 1e-9)
    values = line.values[1:] if is_gauge else np.maximum(np.diff(line.values), 0.0) / lengths
    inside = (ends > stall[0]) & (begins < stall[1])
    elsewhere = ~inside
    for begin, end in others:
        elsewhere &= (ends <= begin) | (begins >= end)
    if not inside.any() or not elsewhere.any():
        return None, 0.0
    usual = np.quantile(values[elsewhere], USUAL, method="inverted_cdf")
    return float(values[inside].max()), float(usual)


def _processors(
    seen: Counted, resources: Probed, stall: Span, others: Sequence[Span]
) -> list[Candidate]:
    """Whether the system used none of its usual CPU time, or nearly all of it."""
    parts = [resources.line("system", name) for name in ("cpu_user_s", "cpu_system_s")]
    if seen.is_embedded or parts[0] is None or parts[1] is None:
        return []
    at_s, used = parts[0].at_s, parts[0].values + parts[1].values
    spans = [span for span in others if span[1] > span[0]]
    length_s = resources.length_s - sum(end - begin for begin, end in [*spans, stall])
    if at_s.size < 2 or length_s <= 0:
        return []

    def spent(span: Span) -> float:
        first, last = np.interp(span, at_s, used)
        return float(last - first)

    begin, end = stall
    if end - begin > 3 * SLOT_S:
        # Its first and last slot are not all of it.
        begin, end = begin + SLOT_S, end - SLOT_S
    rest = spent((0.0, resources.length_s)) - sum(spent(span) for span in [*spans, stall])
    inside, usual = spent((begin, end)) / (end - begin), rest / length_s
    if usual < LEAST_CORES or IDLE * usual < inside < BUSY * usual:
        return []
    cause = "stopped or waiting" if inside <= IDLE * usual else "busy with something else"
    return [
        Candidate(
            cause=f"the system was {cause}",
            sign="system.cpu",
            figure=inside,
            usual=usual,
            unit="cores",
        )
    ]


def _unit(told: str, counter: str, is_gauge: bool) -> str:
    """A gauge's own, or a counter's for each second: of seconds, that is a share."""
    plain = told or ("s" if counter.endswith("_s") else "B" if counter.endswith("_bytes") else "")
    if is_gauge:
        return plain or "count"
    return {"s": "", "B": "B/s"}.get(plain, "1/s")


def _generator(seen: Counted, stall: Span) -> list[Candidate]:
    """Whether the load generator was late meanwhile."""
    first, last = int(stall[0] / SLOT_S + 1e-6), int(np.ceil(stall[1] / SLOT_S - 1e-6))
    lags = seen.peaks["max_lag_ns"] / NS
    inside = float(lags[first:last].max(initial=0.0))
    if inside < LATE * (stall[1] - stall[0]):
        return []
    usual = float(np.median(lags)) if lags.size else 0.0
    return [
        Candidate(
            cause="the load generator was late",
            sign="agent.lag",
            figure=inside,
            usual=usual,
            unit="s",
        )
    ]
