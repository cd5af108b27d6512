"""What HAProxy counts of itself: `show stat` and `show info` on its administration socket (its
management guide, sections 9.1 and 9.3).

Frontends tell what clients did, backends what was passed on; those of one kind are added up, under
HAProxy's own names behind `front_` and `back_`. Absent: single servers behind it.
"""

import csv
import io
import socket
from collections.abc import Mapping

from benchlab.systems.counters import Counting, counters, gauges
from benchlab.systems.counters.local import Local

SIDES = {"FRONTEND": "front", "BACKEND": "back"}
MEANINGS = {
    **counters("front_stot front_req_tot front_ereq front_dreq front_dcon"),
    **counters("front_hrsp_2xx front_hrsp_3xx front_hrsp_4xx front_hrsp_5xx"),
    **counters("back_stot back_econ back_eresp back_wretr back_wredis back_cli_abrt"),
    **counters("back_srv_abrt back_connect back_reuse back_chkdown"),
    **counters("front_bin front_bout back_bin back_bout", "B"),
    **counters("CumConns CumReq CumSslConns PoolFailed"),
    **counters("back_downtime", "s"),
    **gauges("front_scur back_scur back_qcur back_act CurrConns Run_queue Tasks"),
    **gauges("PoolUsed_bytes", "B"),
}
ASKED = b"show stat;show info\n"


def numbers(text: str) -> Mapping[str, float]:
    """The numbers of both answers, one after the other. Raises ValueError where there are none."""
    table, _, info = text.partition("\n\n")
    found: dict[str, float] = {}
    for row in csv.DictReader(io.StringIO(table.removeprefix("# "))):
        side = SIDES.get(row.get("svname") or "")
        for name, value in row.items() if side else ():
            if value and f"{side}_{name}" in MEANINGS:
                found[f"{side}_{name}"] = found.get(f"{side}_{name}", 0.0) + float(value)
    pairs = (line.split(": ", 1) for line in info.splitlines() if ": " in line)
    found |= {name: float(value) for name, value in pairs if name in MEANINGS}
    if not found:
        raise ValueError(f"it answers {text[:60]!r}")
    return found


def asked(there: socket.socket) -> Mapping[str, float]:
    """What it tells on a fresh connection, which it closes."""
    there.sendall(ASKED)
    with there.makefile(encoding="utf-8") as answer:
        return numbers(answer.read())


COUNTING = Counting(MEANINGS, lambda door: Local(door, asked), at="unix:${dir}/admin")
