"""What Redis counts of itself: the numbers of INFO (redis.io/commands/info).

Absent: its statistics of commands and of single keyspaces.
"""

from collections.abc import Mapping

from benchlab.systems.counters import Counting, counters, gauges
from benchlab.systems.counters.lines import Lines
from benchlab.systems.door import Door

MEANINGS = {
    **counters("total_connections_received total_commands_processed rejected_connections"),
    **counters("expired_keys evicted_keys keyspace_hits keyspace_misses total_error_replies"),
    **counters("total_reads_processed total_writes_processed total_forks sync_full"),
    **counters("sync_partial_ok sync_partial_err evicted_clients unexpected_error_replies"),
    **counters("total_net_input_bytes total_net_output_bytes", "B"),
    **counters("total_net_repl_input_bytes total_net_repl_output_bytes", "B"),
    **counters("used_cpu_sys used_cpu_user", "s"),
    **gauges("connected_clients blocked_clients connected_slaves pubsub_channels"),
    **gauges("rdb_changes_since_last_save rdb_bgsave_in_progress aof_rewrite_in_progress"),
    **gauges("aof_delayed_fsync mem_fragmentation_ratio io_threads_active"),
    **gauges("used_memory used_memory_rss used_memory_peak used_memory_dataset", "B"),
    **gauges("mem_clients_normal mem_aof_buffer mem_replication_backlog aof_current_size", "B"),
    **gauges("master_repl_offset slave_repl_offset", "B"),
}


class Info:
    """Asks with inline commands, whose answers are errors, lines or one text of a told length."""

    def __init__(self, door: Door) -> None:
        self._lines = Lines(door)
        if door.password:
            words = [quoted(word) for word in (door.user, door.password) if word]
            self._lines.say(f"AUTH {' '.join(words)}")
            if (said := self._lines.line()) != "+OK":
                self.close()
                raise PermissionError(said.lstrip("-"))

    def read(self) -> Mapping[str, float]:
        """Every number of its answer."""
        self._lines.say("INFO everything")
        head = self._lines.line()
        if not head.startswith("$"):
            raise ConnectionError(f"it answers {head!r}")
        text = self._lines.text(int(head[1:]) + 2)
        pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
        return {name: float(value) for name, value in pairs if name in MEANINGS}

    def close(self) -> None:
        """Gives the connection back."""
        self._lines.close()


def quoted(word: str) -> str:
    """A word of an inline command, in which it may have blanks and quotes."""
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


COUNTING = Counting(MEANINGS, Info)
