"""What Sphinx counts of itself: SHOW STATUS, and the state of its index.

Times and reads of single queries are counted where `searchd` was started with `--cpustats` and
`--iostats`, which it is not here. Absent: averages, which a counter tells better, and agents.
"""

from benchlab.systems.counters import Counting, counters, gauges
from benchlab.systems.counters.shown import Shown

MEANINGS = {
    **counters("connections maxed_out queries command_search command_status command_excerpt"),
    **counters("command_update command_delete command_keywords command_flushattrs"),
    **counters("query_wall", "s"),
    **gauges("indexed_documents disk_chunks"),
    **gauges("indexed_bytes ram_bytes disk_bytes", "B"),
}
ASKED = ("SHOW STATUS", "SHOW INDEX docs STATUS")
COUNTING = Counting(MEANINGS, lambda door: Shown(door, ASKED, dict.fromkeys(MEANINGS, 1.0)))
