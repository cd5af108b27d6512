"""Runs kept in a store as a lab leaves them, made of one figure a session."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchlab.lab.opening import KNOWN
from benchlab.model.cases import cases
from benchlab.model.evidence import CaseResult, Estimate, Summary
from benchlab.model.reading import read_experiment
from benchlab.model.records import RunRecord, SourceRecord
from benchlab.stats.estimates import over_sessions
from benchlab.store import Run, create
from benchlab.store.runs import new_id

SHOP = """experiment: shop
question: How fast is the shop?
systems: {shop: {at: "http://127.0.0.1:9/"}}
workload: {name: page}
load: {clients: 8, duration: 1s}
sessions: 8
"""
HOST = {"cpu": "a processor", "kernel": "6.1", "fingerprint": "aa"}
UNITS = {"throughput": "1/s", "latency_p99": "s", "capacity": "1/s"}


def sessions(rate: float, seed: int, count: int = 8, spread: float = 0.01) -> list[float]:
    """The rates of a run's sessions."""
    drawn = np.random.default_rng([seed, count]).normal(0, spread, count)
    return [float(value) for value in rate * np.exp(drawn)]


def estimate(values: Sequence[float | None], unit: str) -> Estimate:
    """A metric over its sessions."""
    known = [value for value in values if value is not None]
    over = over_sessions(known)
    return Estimate(
        unit=unit,
        estimate=over.estimate,
        low=over.low,
        high=over.high,
        sessions=over.sessions,
        values=tuple(values),
    )


def keep(
    day: int,
    values: Mapping[str, Sequence[float | None]] | Sequence[float],
    *,
    text: str = SHOP,
    commit: str | None = None,
    **record: Any,
) -> Run:
    """A run of a day, with the values of its sessions by metric (of throughput, unless told)."""
    experiment = read_experiment(text, file="shop.yaml", known=KNOWN)
    named = values if isinstance(values, Mapping) else {"throughput": values}
    found = {name: estimate(listed, UNITS[name]) for name, listed in named.items()}
    made = create(
        text,
        RunRecord(
            id=new_id(),
            experiment=experiment.name,
            state="complete",
            created_utc=f"2026-01-{day:02}T00:00:00Z",
            command=("benchlab", "run", "shop.yaml"),
            seed=1,
            blocks=2,
            sources=(
                ()
                if commit is None
                else (SourceRecord(system="shop", git=".", revision="HEAD", commit=commit),)
            ),
            **{"sessions": 8, "sessions_done": 8, "host": HOST, **record},
        ),
    )
    made.write_summary(
        Summary(
            experiment=experiment.name,
            question=experiment.question,
            state="complete",
            sessions=8,
            answer="Seen in 8 sessions, without a claim.",
            cases=tuple(
                CaseResult(
                    name=case.name,
                    system=case.system_name,
                    levels=case.levels,
                    state="ok",
                    metrics=found,
                )
                for case in cases(experiment)
            ),
        )
    )
    return made
