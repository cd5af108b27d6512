"""What systems tell of themselves, taken apart; `lab/test_counting` asks real ones."""

import pytest

from benchlab.systems import ldap
from benchlab.systems.counters import (
    exporter,
    haproxy,
    mariadb,
    nginx,
    openldap,
    postgresql,
    running,
)
from benchlab.systems.door import Door


@pytest.mark.parametrize("version", [120000, 150018, 180001])
def test_postgresql_is_asked_for_the_views_its_version_has(version: int) -> None:
    asked = postgresql.statement(version)
    assert ("pg_stat_wal" in asked) == (version >= 140000)
    assert ("pg_stat_checkpointer" in asked) == (version >= 170000)


def test_an_nginx_page_that_is_none_is_told() -> None:
    with pytest.raises(ValueError, match="<html>"):
        nginx.numbers("<html>no such page</html>")


def test_entries_of_a_monitor_have_the_names_of_the_catalogue() -> None:
    name = ldap.value(4, b"cn=Search,cn=Operations,cn=Monitor")
    found = ldap.value(0x31, ldap.value(4, b"41") + ldap.value(4, b"42"))
    attribute = ldap.value(0x30, ldap.value(4, b"monitorOpCompleted") + found)
    parsed = ldap.entry(name + ldap.value(0x30, attribute))
    assert openldap.numbers(*parsed) == {"search_completed": 41.0}


def test_a_long_value_of_ldap_says_how_long_it_is() -> None:
    for size in (0, 1, 127, 128, 255, 256, 70_000):
        whole = ldap.value(4, b"x" * size)
        assert ldap.length(whole) == len(whole)
        assert list(ldap.values(whole * 2)) == [(4, b"x" * size)] * 2
        assert ldap.length(whole[:1]) is None
    with pytest.raises(ValueError, match="cut off"):
        list(ldap.values(ldap.value(4, b"abc")[:-1]))


def test_times_of_catalogues_are_in_seconds() -> None:
    for meanings in (postgresql.MEANINGS, mariadb.MEANINGS):
        assert {what.unit for name, what in meanings.items() if name.endswith("_time")} == {"s"}


NODE = """# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 11453.25
node_cpu_seconds_total{cpu="0",mode="user"} 100
node_cpu_seconds_total{cpu="1",mode="user"} 20.5
# TYPE node_network_receive_bytes_total counter
node_network_receive_bytes_total{device="eth0"} 3.2e+09
node_network_receive_bytes_total{device="lo"} 99
# TYPE node_load1 gauge
node_load1 6.87
# TYPE node_vmstat_pswpin untyped
node_vmstat_pswpin 0
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 0.25
# TYPE go_goroutines gauge
go_goroutines 9
"""


def test_an_exporters_figures_are_added_up_but_for_modes() -> None:
    assert exporter.numbers(NODE) == {
        "node_cpu_seconds_total.idle": 11453.25,
        "node_cpu_seconds_total.user": 120.5,
        "node_network_receive_bytes_total": 3.2e9,
        "node_load1": 6.87,
        "node_vmstat_pswpin": 0.0,
    }
    own = "\n".join(line for line in NODE.splitlines() if "process_" in line)
    assert exporter.numbers(own) == {"process_cpu_seconds_total": 0.25}
    with pytest.raises(ValueError, match="tells nothing of a host"):
        exporter.numbers("# TYPE go_goroutines gauge\ngo_goroutines 9\n")


BALANCED = """# pxname,svname,scur,stot,bin,econ,status,
front,FRONTEND,3,12,1024,,OPEN,
back,a,1,6,512,1,UP,
back,BACKEND,2,12,1000,1,UP,
other,BACKEND,5,8,24,2,UP,

Name: HAProxy
CumReq: 44
PoolUsed_bytes: 123912
"""


def test_haproxys_sides_are_added_up_and_single_servers_left_out() -> None:
    assert haproxy.numbers(BALANCED) == {
        **{"front_scur": 3.0, "front_stot": 12.0, "front_bin": 1024.0},
        **{"back_scur": 7.0, "back_stot": 20.0, "back_bin": 1024.0, "back_econ": 3.0},
        **{"CumReq": 44.0, "PoolUsed_bytes": 123912.0},
    }
    with pytest.raises(ValueError, match="Permission denied"):
        haproxy.numbers("Permission denied")


def test_what_runs_already_is_asked_by_its_scheme() -> None:
    two = running.sources([Door("mysql://u:p@a:3306/x"), Door("mysqls://u:p@b:3307/x")])
    assert [(one.kind, one.member) for one in two] == [("mariadb", "a:3306"), ("mariadb", "b:3307")]
    (alone,) = running.sources([Door("rediss://:p@127.0.0.1:6379")])
    assert (alone.kind, alone.member) == ("redis", "")
    assert running.sources([Door("http://127.0.0.1:80/"), Door("sqlite:/srv/app.db")]) == []
    hosts = exporter.sources(("http://a:9100", "http://b:9100/metrics"))
    assert [one.member for one in hosts] == ["a:9100", "b:9100"]
