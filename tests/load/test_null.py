"""The ruler is measured as the system is: in its protocol, and encrypted where it is."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchlab.host.processes import Leash
from benchlab.load import null
from benchlab.load.plan import make_plan
from benchlab.model.cases import cases
from benchlab.model.reading import read_mapping
from benchlab.model.schemes import SCHEMES
from benchlab.store.measurement import Measurement

PAGE = {"page": {"get": "/"}}


@pytest.fixture
def leash() -> Iterator[Leash]:
    with Leash() as made:
        yield made


@pytest.mark.parametrize("scheme", [name for name in SCHEMES if SCHEMES[name].port is not None])
def test_every_scheme_has_a_ceiling_and_a_floor(
    scheme: str, tmp_path: Path, leash: Leash, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WARMUP_NS", "CEILING_NS", "FLOOR_NS"):
        monkeypatch.setattr(null, name, 100_000_000)
    url = f"{scheme}://127.0.0.1:9"
    mix = dict(SCHEMES[scheme].minute or PAGE)
    data = {"experiment": "x", "systems": {"x": {"at": url}}, "workload": {"mix": mix}}
    plan = make_plan(cases(read_mapping(data))[0], urls=[url], seed=1, session=0, block=0)
    assert null.has_null(plan)
    reply = null.answer(plan, bytes_in=150.0)
    folder = tmp_path / "null"
    assert null.measure(plan, folder, reply=reply, rate=500.0, cpus=(), leash=leash)
    for which in ("ceiling", "floor"):
        totals = Measurement.read(folder / which / "measurement.arrow").totals()
        assert totals["ok"] > 0 and totals["failed"] == totals["unknown"] == 0, which
    asked = json.loads((folder / "ceiling/plan.json").read_text())
    assert ("tls" in asked) == SCHEMES[scheme].encrypted
