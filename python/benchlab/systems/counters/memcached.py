"""What memcached counts of itself: the numbers of `stats` (its protocol.txt, "General-purpose
statistics").

Absent: its statistics of slabs and items.
"""

from collections.abc import Mapping

from benchlab.systems.counters import Counting, counters, gauges
from benchlab.systems.counters.lines import Lines
from benchlab.systems.door import Door

MEANINGS = {
    **counters("cmd_get cmd_set cmd_flush cmd_touch cmd_meta get_hits get_misses get_expired"),
    **counters("delete_hits delete_misses incr_hits incr_misses decr_hits decr_misses"),
    **counters("cas_hits cas_misses cas_badval touch_hits touch_misses store_too_large"),
    **counters("store_no_memory total_items total_connections rejected_connections"),
    **counters("evictions reclaimed expired_unfetched evicted_unfetched conn_yields"),
    **counters(
        "listen_disabled_num lru_crawler_starts moves_to_cold moves_to_warm lrutail_reflocked"
    ),
    **counters("bytes_read bytes_written", "B"),
    **counters("rusage_user rusage_system", "s"),
    **gauges("curr_connections curr_items threads hash_power_level"),
    **gauges("bytes limit_maxbytes hash_bytes", "B"),
}


class Stats:
    """Asks with `stats`, which is answered in a line for each, the last of them `END`."""

    def __init__(self, door: Door) -> None:
        self._lines = Lines(door)
        if door.password:
            # Of a server with a file of users (its protocol.txt, "Authentication").
            word = f"{door.user} {door.password}"
            self._lines.say(f"set auth 0 0 {len(word.encode())}\r\n{word}")
            if (said := self._lines.line()) != "STORED":
                self.close()
                raise PermissionError(said)

    def read(self) -> Mapping[str, float]:
        """Every number of the catalogue."""
        self._lines.say("stats")
        found = {}
        while (line := self._lines.line()) != "END":
            word, name, value = [*line.split(" ", 2), "", ""][:3]
            if word != "STAT":
                raise ConnectionError(f"it answers {line!r}")
            if name in MEANINGS:
                found[name] = float(value)
        return found

    def close(self) -> None:
        """Gives the connection back."""
        self._lines.close()


COUNTING = Counting(MEANINGS, Stats)
