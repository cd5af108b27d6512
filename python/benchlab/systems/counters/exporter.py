"""What Prometheus' node and process exporters tell of a host that the lab cannot look into.

Their text format is read by Prometheus' own library, after lines that are not wanted are passed
over, of which there are thousands. Figures of several cores, devices or groups of processes are
added up; those of a mode (`node_cpu_seconds_total.user`) are kept apart. Absent: other exporters.
"""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from benchlab.host.counters import Source
from benchlab.systems.counters import Counting, counters, gauges
from benchlab.systems.counters.page import Page
from benchlab.systems.door import Door

KIND = "exporter"
"""The first part of its metrics' names."""
CPU, GROUPS = "node_cpu_seconds_total", "namedprocess_namegroup_"
MODES = ("user", "nice", "system", "irq", "softirq", "iowait", "steal", "idle")
MEANINGS = {
    **counters(" ".join(f"{CPU}.{mode}" for mode in MODES), "s"),
    **counters("node_context_switches_total node_forks_total node_vmstat_pgmajfault"),
    **counters("node_vmstat_pswpin node_vmstat_pswpout node_vmstat_oom_kill"),
    **counters("node_disk_reads_completed_total node_disk_writes_completed_total"),
    **counters("node_disk_flush_requests_total"),
    **counters("node_disk_read_bytes_total node_disk_written_bytes_total", "B"),
    **counters("node_network_receive_bytes_total node_network_transmit_bytes_total", "B"),
    **counters("node_disk_io_time_seconds_total node_disk_flush_requests_time_seconds_total", "s"),
    **counters("node_pressure_cpu_waiting_seconds_total", "s"),
    **counters("node_pressure_io_waiting_seconds_total", "s"),
    **counters("node_pressure_memory_waiting_seconds_total", "s"),
    **gauges("node_load1 node_procs_running node_procs_blocked node_sockstat_TCP_inuse"),
    **gauges("node_memory_MemAvailable_bytes node_memory_MemTotal_bytes", "B"),
    **counters(f"{GROUPS}cpu_seconds_total.user {GROUPS}cpu_seconds_total.system", "s"),
    **counters(f"{GROUPS}read_bytes_total {GROUPS}write_bytes_total", "B"),
    **gauges(f"{GROUPS}num_procs {GROUPS}num_threads {GROUPS}open_filedesc"),
    **gauges(f"{GROUPS}memory_bytes.resident", "B"),
    **counters("process_cpu_seconds_total", "s"),
    **gauges("process_resident_memory_bytes", "B"),
    **gauges("process_open_fds"),
}
_NAMES = {name.partition(".")[0] for name in MEANINGS}
_APART = ("mode", "memtype")
"""Labels whose values stand in the figure's name."""
_NOT_COUNTED = {"device": "lo"}
"""What a host says to itself goes over no wire."""


def numbers(text: str) -> Mapping[str, float]:
    """The figures of the catalogue, added up. Raises ValueError where there are none.

    An exporter of others tells of its own process too, which nobody asked about.
    """
    from prometheus_client.parser import text_string_to_metric_families

    found: dict[str, float] = {}
    kept = "\n".join([*_wanted(text), ""])
    for family in text_string_to_metric_families(kept):
        for sample in family.samples:
            if any(sample.labels.get(label) == value for label, value in _NOT_COUNTED.items()):
                continue
            apart = [sample.labels[label] for label in _APART if label in sample.labels]
            name = ".".join([sample.name, *apart])
            if name in MEANINGS:
                found[name] = found.get(name, 0.0) + sample.value
    if not found:
        raise ValueError(f"it tells nothing of a host or process: {text[:60]!r}")
    others = any(not name.startswith("process_") for name in found)
    return {n: x for n, x in found.items() if not (others and n.startswith("process_"))}


def _wanted(text: str) -> Iterator[str]:
    """The lines of names that are in the catalogue, their types too."""
    for line in text.splitlines():
        named = line.removeprefix("# TYPE ")
        if re.split(r"[{ ]", named, maxsplit=1)[0] in _NAMES:
            yield line


COUNTING = Counting(MEANINGS, lambda door: Page(door, f"/{door.path or 'metrics'}", numbers))


def sources(urls: tuple[str, ...]) -> tuple[Source, ...]:
    """One for each address; of several, the host and port tell them apart."""
    return tuple(
        COUNTING.source(KIND, Door(url), urlsplit(url).netloc if len(urls) > 1 else "")
        for url in urls
    )
