"""What PostgreSQL counts of itself: its cumulative statistics views (its manual, chapter 28.2).

One statement reads whole rows of the views there are; columns come and go with the versions, so
that those of the catalogue are kept which the server has. A server process tells what it did once a
second at most, and when its client leaves: a rate over d seconds may be off by one part in d.
Absent: statistics of single tables, indexes and statements.
"""

from collections.abc import Mapping

from benchlab.systems.counters import Counting, counters, gauges
from benchlab.systems.door import TIMEOUT_S, Door
from benchlab.systems.statements import postgresql

MEANINGS = {
    **counters("xact_commit xact_rollback blks_read blks_hit tup_returned tup_fetched"),
    **counters("tup_inserted tup_updated tup_deleted conflicts deadlocks temp_files sessions"),
    **counters("sessions_abandoned sessions_fatal sessions_killed parallel_workers_launched"),
    **counters("temp_bytes wal_bytes", "B"),
    **counters("blk_read_time blk_write_time session_time active_time", "s"),
    **counters("idle_in_transaction_time wal_write_time wal_sync_time", "s"),
    **counters("wal_records wal_fpi wal_buffers_full wal_write wal_sync"),
    **counters("checkpoints_timed checkpoints_req num_timed num_requested"),
    **counters("buffers_checkpoint buffers_clean maxwritten_clean buffers_backend"),
    **counters("buffers_backend_fsync buffers_alloc buffers_written fsyncs"),
    **counters("checkpoint_write_time checkpoint_sync_time write_time sync_time", "s"),
    **gauges("numbackends active idle_in_transaction waiting_for_lock waiting_for_io"),
    **gauges("checkpointing vacuuming"),
    **gauges("replay_lag_bytes", "B"),
}
_MILLISECONDS = {name for name, what in MEANINGS.items() if what.unit == "s"}
_VIEWS = {"pg_stat_wal": 140000, "pg_stat_checkpointer": 170000}
"""Views of one row by the version that brought them."""


def statement(version: int) -> str:
    """What is asked of a server of this version: each part is a row as JSON."""
    views = ["pg_stat_bgwriter", *(view for view, since in _VIEWS.items() if version >= since)]
    parts = [f"SELECT to_json({view}) FROM {view}" for view in views]
    parts.append("SELECT to_json(d) FROM pg_stat_database d WHERE d.datname = current_database()")
    parts.append(
        "SELECT to_json(a) FROM (SELECT count(*) FILTER (WHERE state = 'active') AS active,"
        " count(*) FILTER (WHERE state LIKE 'idle in transaction%') AS idle_in_transaction,"
        " count(*) FILTER (WHERE wait_event_type = 'Lock') AS waiting_for_lock,"
        " count(*) FILTER (WHERE wait_event_type = 'IO') AS waiting_for_io"
        " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()) a"
    )
    # What is sleeping until the next one is no checkpoint; whoever may not look sees no row.
    parts.append(
        "SELECT to_json(b) FROM (SELECT count(*) FILTER (WHERE backend_type = 'checkpointer'"
        " AND wait_event IS DISTINCT FROM 'CheckpointerMain') AS checkpointing,"
        " count(*) FILTER (WHERE backend_type = 'autovacuum worker') AS vacuuming"
        " FROM pg_stat_activity) b"
    )
    parts.append(
        "SELECT to_json(r) FROM (SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(),"
        " pg_last_wal_replay_lsn()) AS replay_lag_bytes WHERE pg_is_in_recovery()) r"
    )
    if version >= 160000:
        parts.append("SELECT to_json(i) FROM (SELECT sum(fsyncs) AS fsyncs FROM pg_stat_io) i")
    return " UNION ALL ".join(parts)


class Views:
    """Asks over a connection of its own, which it leaves out of what it counts."""

    def __init__(self, door: Door) -> None:
        self._connection = postgresql(door, TIMEOUT_S)
        ((version,),) = self._connection.run("SHOW server_version_num") or []
        self._statement = statement(int(version))

    def read(self) -> Mapping[str, float]:
        """Every number of the catalogue that this version has; times in seconds."""
        found: dict[str, float] = {}
        for (row,) in self._connection.run(self._statement) or []:
            for name, value in row.items():
                if name in MEANINGS and value is not None:
                    found[name] = float(value) * (1e-3 if name in _MILLISECONDS else 1.0)
        return found

    def close(self) -> None:
        """Gives the connection back."""
        self._connection.close()


COUNTING = Counting(MEANINGS, Views)
