"""What sampling costs: the probes of processes ten times a second, and what each kind of server
counts of itself once a second.

Each server is made, left idle for a while and then asked for as long; its own cost is what it
spends more while it is asked. Needs the servers that `make servers` installs; others are left out.
"""

import argparse
import sys
import time

# The benches beside this one are called as protocols are, one of them as the package `http`.
sys.path.pop(0)

from benchlab.host.probes import Probes
from benchlab.host.processes import Leash
from benchlab.model.experiment import System
from benchlab.systems import KINDS, Instance, Place
from benchlab.systems.members import ServerKind
from benchlab.systems.registry import kind_alone
from benchlab.systems.topology import TopologyKind

BEHIND = {"haproxy": {"before": {"store": {"kind": "memcached"}}}}
"""Of kinds that something has to stand behind; that is not asked."""
SHARE = 0.01
"""Of a core, that all sampling of a system may cost."""


def spent_s(server: Instance, name: str, seconds: float, asks: bool) -> tuple[float, float, float]:
    """CPU time a second: of the questions, of the other probes, and of the server's processes."""
    front = [name] if name in server.roots else list(server.roots)
    probes = Probes(
        {"system": lambda: {m: root for m, root in server.roots.items() if m in front}},
        lambda: [each for each in server.counters if asks and each.kind == name],
    )
    probes.start()
    time.sleep(seconds)
    seen = probes.stop()
    used = seen.filter(
        (seen["source"] == "system")
        & (seen["member"] == "")
        & seen["counter"].str.starts_with("cpu_")
    )
    ends = used.sort("before_ns").group_by("counter", maintain_order=True)
    grown = sum(rows["value"][-1] - rows["value"][0] for _, rows in ends)
    asking = sum(each.cpu_s for each in probes.counters)
    for each in probes.counters:
        if each.trouble is not None:
            sys.exit(f"{name} does not tell its counters: {each.trouble}")
    return asking / seconds, probes.cpu_s / seconds, grown / seconds


def main() -> None:
    """Prints shares of a core as a Markdown table; the last column is the server's own cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    print("| kind | counters | asked by the lab | answered by the server | processes at 10 Hz |")
    print("|---|---|---|---|---|")
    with Leash() as leash:
        for name, kind in sorted(KINDS.items()):
            if not isinstance(kind, ServerKind) or kind.counters is None:
                continue
            system = System.model_validate({"kind": name, **BEHIND.get(name, {})})
            whole = TopologyKind(name, kind_alone) if system.before else kind
            if why := whole.missing(system):
                print(f"{name} is left out: it {why}", file=sys.stderr)
                continue
            place = Place(leash, leash.folder() / name)
            server = whole.start(name, system, place)
            # What is loaded once, at the first question of a lab, is no share of a second.
            spent_s(server, name, 0.1, asks=True)
            _, _, idle = spent_s(server, name, options.seconds, asks=False)
            asked, probed, answered = spent_s(server, name, options.seconds, asks=True)
            server.stop(10.0)
            shares = (asked, max(0.0, answered - idle), probed)
            cells = " | ".join(f"{share:.2%}" for share in shares)
            mark = " (over 1 %)" if asked + probed > SHARE else ""
            print(f"| {name} | {len(kind.counters.meanings)} | {cells}{mark} |", flush=True)


if __name__ == "__main__":
    main()
