"""What MariaDB and MySQL count of themselves: SHOW GLOBAL STATUS, Galera's `wsrep_` among it.

To ask is itself a query a second, and is counted as one. Absent: the performance schema, which is
off by default and costs what it tells.
"""

from benchlab.systems.counters import Counting, counters, gauges
from benchlab.systems.counters.shown import Shown

MEANINGS = {
    **counters("Questions Queries Com_select Com_insert Com_update Com_delete Com_replace"),
    **counters("Com_commit Com_rollback Com_begin Com_stmt_prepare Com_stmt_execute"),
    **counters("Slow_queries Connections Aborted_clients Aborted_connects Threads_created"),
    **counters("Created_tmp_tables Created_tmp_disk_tables Created_tmp_files Opened_tables"),
    **counters("Handler_read_first Handler_read_key Handler_read_next Handler_read_rnd"),
    **counters("Handler_read_rnd_next Handler_write Handler_update Handler_delete"),
    **counters("Handler_commit Handler_rollback Select_full_join Select_scan Sort_rows"),
    **counters("Sort_merge_passes Table_locks_waited Qcache_hits Binlog_commits"),
    **counters("Bytes_received Bytes_sent Innodb_data_read Innodb_data_written", "B"),
    **counters("Innodb_os_log_written", "B"),
    **counters("Innodb_rows_read Innodb_rows_inserted Innodb_rows_updated Innodb_rows_deleted"),
    **counters("Innodb_data_reads Innodb_data_writes Innodb_data_fsyncs Innodb_log_writes"),
    **counters("Innodb_log_write_requests Innodb_log_waits Innodb_os_log_fsyncs"),
    **counters("Innodb_buffer_pool_reads Innodb_buffer_pool_read_requests"),
    **counters("Innodb_buffer_pool_write_requests Innodb_buffer_pool_wait_free"),
    **counters("Innodb_buffer_pool_pages_flushed Innodb_pages_created Innodb_pages_read"),
    **counters("Innodb_pages_written Innodb_row_lock_waits Innodb_deadlocks"),
    **counters("Innodb_dblwr_writes"),
    **counters("Innodb_row_lock_time", "s"),
    **counters("wsrep_replicated wsrep_received wsrep_repl_keys wsrep_local_commits"),
    **counters("wsrep_local_cert_failures wsrep_local_bf_aborts wsrep_flow_control_sent"),
    **counters("wsrep_flow_control_recv wsrep_apply_window wsrep_last_committed"),
    **counters("wsrep_replicated_bytes wsrep_received_bytes", "B"),
    **counters("wsrep_flow_control_paused_ns", "s"),
    **gauges("Threads_connected Threads_running Open_tables Open_files Prepared_stmt_count"),
    **gauges("Innodb_row_lock_current_waits Innodb_buffer_pool_pages_dirty"),
    **gauges("Innodb_buffer_pool_pages_free Innodb_buffer_pool_pages_data"),
    **gauges("Innodb_history_list_length Innodb_checkpoint_age"),
    **gauges("wsrep_cluster_size wsrep_local_state wsrep_local_recv_queue"),
    **gauges("wsrep_local_send_queue wsrep_cert_deps_distance wsrep_flow_control_paused"),
    **gauges("Memory_used Innodb_buffer_pool_bytes_data Innodb_buffer_pool_bytes_dirty", "B"),
}
ASKED = "SHOW GLOBAL STATUS WHERE Variable_name IN ({})".format(
    ", ".join(f"'{name}'" for name in MEANINGS)
)
_SCALES = {"Innodb_row_lock_time": 1e-3, "wsrep_flow_control_paused_ns": 1e-9}
"""Of times that the server tells in another unit than seconds."""
_NAMES = {name: _SCALES.get(name, 1.0) for name in MEANINGS}

COUNTING = Counting(MEANINGS, lambda door: Shown(door, (ASKED,), _NAMES))
