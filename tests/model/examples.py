"""Experiments that the tests of the model share."""

from pathlib import Path
from typing import Any

from benchlab.load.workloads import known as known_workloads
from benchlab.model.experiment import Experiment
from benchlab.model.reading import read_experiment
from benchlab.model.sections import Known

STUDIES = Path(__file__).resolve().parents[2] / "studies"
KNOWN = Known(workloads=known_workloads())

EXAMPLE = """\
experiment: buddies
question: Is one multiget faster than fetching each buddy on its own?
systems:
  sqlite:
    settings: {cache_size: -2000}
  staging:
    kind: sqlite
    at: sqlite:/srv/app.db
workload:
  name: buddies
  data: {users: 100000}
  options: {fetch: each}
load:
  clients: 16
  duration: 5s
factors:
  workload.options.fetch: [each, together]
  load.clients: [1, 8, 64]
  system: [sqlite, staging]
  config:
    stock: {}
    tuned: {systems.sqlite.settings: {journal_mode: wal, synchronous: "off"}}
skip: [{system: staging, config: tuned}]
compare:
  factor: fetch
  baseline: each
  metrics: [throughput]
  at: {clients: 64, system: sqlite, config: stock}
  smallest_effect: 3%
sessions: 8
blocks: 2
seed: 1
promises: [latency_p99 < 50ms, errors < 0.1%]
full: {load.clients: [1, 2, 4, 8, 16, 32, 64, 128]}
abort_when: [errors > 5%]
allow: {steal: 5%}
faults: []
"""

SHOP = """\
experiment: shop
systems:
  api:
    kind: command
    start: serve ${port}
    url: http://127.0.0.1:${port}/
workload:
  mix:
    page: {get: "/item/${id}", headers: {Accept: text/html}, weight: 9, expect: {status: 200}}
    order: {post: /orders, body: '{"item": ${id}}'}
    visit:
      transaction:
        - {get: /, name: front}
        - {get: "/item/${items}", for_each: items}
  values:
    id: {zipfian: [1, 100000]}
    items: {list: {low: 1, high: 9, length: [1, 3]}}
    name: {text: {length: 20, key: id}}
load: {rate: 500/s, duration: 5s}
"""

FARM = """\
experiment: farm
systems:
  site:
    kind: command
    start: serve ${port} ${db.port}
    url: http://127.0.0.1:${port}/
    environment: {BACK: "${db.url}", PASSWORD: "${db.password}"}
    before:
      db:
        kind: command
        start: store ${port}
        url: redis://127.0.0.1:${port}/
workload: {mix: {page: {get: /}}}
"""

SEARCH = """\
experiment: busy-hour
systems: {site: {at: "http://127.0.0.1:8080/"}}
workload: {mix: {page: {get: /}}}
load:
  find: highest rate
  keep: [latency_p99 < 50ms, errors < 1%]
  peak: 400/s
factors:
  load.connections: [16, 64]
compare:
  factor: connections
  metrics: [capacity]
"""


def read(text: str, **more: Any) -> Experiment:
    return read_experiment(text, file="x.yaml", known=KNOWN, **more)


def small(**more: Any) -> dict[str, Any]:
    return {
        "experiment": "small",
        "systems": {"shop": {"at": "http://127.0.0.1:8080/"}},
        "workload": {"mix": {"page": {"get": "/"}}},
        **more,
    }
