"""Topologies of real servers: asked through their front, parts killed, and gone without a trace."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchlab.host import ports, programs
from benchlab.host.processes import Leash
from benchlab.lab.opening import KNOWN
from benchlab.model.cases import cases
from benchlab.model.errors import HostError, InputError
from benchlab.model.experiment import System
from benchlab.model.reading import read_mapping
from benchlab.systems import Place, kind_of
from benchlab.systems.members import Members
from benchlab.systems.topology import Topology

pytestmark = pytest.mark.real

CACHE = """<?php
$status = opcache_get_status(false);
echo json_encode(["on" => $status !== false, "held" => $status["opcache_statistics"] ?? null]);
"""
ASK = """<?php
$db = new mysqli(getenv("DB_HOST"), getenv("DB_USER"), getenv("DB_PASSWORD"), "bench",
    (int) "${db.port}");
echo $db->query("SELECT 40 + 2")->fetch_row()[0];
"""


@pytest.fixture
def bring_up(leash: Leash, program: Callable[[str], str]) -> Callable[[dict[str, Any]], Topology]:
    """Brings up a topology."""

    def make(system: dict[str, Any]) -> Topology:
        found = read("site", system)
        if why := kind_of("site", found).missing(found):
            program(why.split()[1].rstrip(":"))
        place = Place(leash, leash.folder() / "system", cpus=(0,))
        up = kind_of("site", found).start("site", found, place)
        assert isinstance(up, Topology)
        return up

    return make


def read(name: str, system: dict[str, Any]) -> System:
    text = {"experiment": "x", "systems": {name: system}, "workload": {"mix": {"p": {"get": "/"}}}}
    return cases(read_mapping(text, known=KNOWN))[0].system


def page(topology: Topology, path: str = "/") -> str:
    with urllib.request.urlopen(topology.urls[0] + path, timeout=5) as answer:
        return str(answer.read().decode())


def await_answers(topology: Topology, several: int) -> None:
    """Waits until so many requests in a row are answered, as when a balancer has seen a death."""
    deadline, row = time.monotonic() + 10, 0
    while row < several:
        assert time.monotonic() < deadline, "the balancer goes on asking whom it should not"
        try:
            row = row + 1 if page(topology).startswith("hello ") else 0
        except urllib.error.HTTPError:
            row = 0


def farm(**php: Any) -> dict[str, Any]:
    web = {"kind": "nginx", "instances": 2, "before": {"php": {"kind": "php-fpm", **php}}}
    return {"kind": "haproxy", "before": {"web": web}}


def test_a_farm_is_asked_loses_a_member_takes_it_back_and_is_gone(
    bring_up: Callable[[dict[str, Any]], Topology],
) -> None:
    farmed = farm(files={"index.php": "<?php echo 'hello ', getmypid();"})
    for _ in range(3):
        topology = bring_up(farmed)
        assert list(topology.roots) == ["php", "web.1", "web.2", "site"]
        assert topology.urls[0].startswith("http://127.0.0.1:")
        assert page(topology).startswith("hello ")
        assert page(topology, "/any/path").startswith("hello ")
        topology.kill("web.1")
        await_answers(topology, 8)
        assert topology.died() is None
        topology.restart("web.1")
        topology.pause("php")
        topology.resume("php")
        await_answers(topology, 8)
        with pytest.raises(HostError, match=r"no member web\.3; there are php, web\.1, web\.2, si"):
            topology.kill("web.3")
        trees = [psutil.Process(root.pid) for root in topology.roots.values()]
        processes = [each for tree in trees for each in tree.children(recursive=True)]
        taken = [int(url.split(":")[2].split("/")[0]) for urls in topology.addresses.values()
                 for url in urls]  # fmt: skip
        assert len(processes) >= 4
        assert len(taken) == 4
        topology.stop(10.0)
        psutil.wait_procs(processes, timeout=10)
        assert not [each for each in processes if each.is_running()]
        assert all(ports.is_free(port) for port in taken)


def test_each_part_is_killed_and_taken_back_and_a_death_is_told(
    bring_up: Callable[[dict[str, Any]], Topology], leash: Leash
) -> None:
    topology = bring_up(farm(files={"index.php": "<?php echo 'hello ';"}))
    for member in topology.roots:
        topology.kill(member)
        assert topology.died() is None, "it was meant"
        topology.restart(member)
    await_answers(topology, 8)
    (master,) = psutil.Process(topology.roots["php"].pid).children()
    master.kill()
    deadline = time.monotonic() + 10
    while topology.died() is None:
        assert time.monotonic() < deadline
        leash.listen(0.01)
    assert topology.died() == "php: was ended by signal 9"


def test_what_php_reads_in_its_own_way_is_no_other_value(
    bring_up: Callable[[dict[str, Any]], Topology],
) -> None:
    given = {
        **{"error_reporting": "E_ALL & ~E_NOTICE", "display_errors": "On", "log_errors": "no"},
        **{"memory_limit": -1, "include_path": ".:/usr/share/php", "date.timezone": "Europe/Rome"},
        **{"opcache.memory_consumption": 64, "opcache.validate_timestamps": "Off"},
        **{"realpath_cache_size": "8M", "session.name": "A_B", "arg_separator.output": "&amp;"},
    }
    php = {"kind": "php-fpm", "settings": given, "files": {"index.php": "<?php echo 'hello';"}}
    topology = bring_up({"kind": "nginx", "before": {"php": php}})
    assert page(topology) == "hello"


def test_files_of_ones_own_go_before_what_the_lab_says(
    bring_up: Callable[[dict[str, Any]], Topology],
) -> None:
    shown = "<?php echo 'hello ', ini_get('precision'), ' ', ini_get('memory_limit');"
    ini = "precision = 7\nmemory_limit = 33M\n"
    farmed = farm(files={"index.php": shown, "php.ini": ini}, settings={"memory_limit": "44M"})
    more = "frontend more\n  bind unix@${dir}/more\n  default_backend back\n"
    topology = bring_up({**farmed, "files": {"more.cfg": more}})
    assert page(topology) == "hello 7 44M"
    front = topology.parts["site"]
    assert isinstance(front, Members)
    assert (front.members[""].folder / "more").is_socket()


@pytest.mark.parametrize("enabled", [0, 1])
def test_the_opcode_cache_is_on_or_off(
    enabled: int, bring_up: Callable[[dict[str, Any]], Topology]
) -> None:
    files = {"index.php": CACHE}
    php = {"kind": "php-fpm", "files": files, "settings": {"opcache.enable": enabled}}
    topology = bring_up({"kind": "nginx", "before": {"php": php}})
    for _ in range(3):
        page(topology)
    said = json.loads(page(topology))
    assert said["on"] is bool(enabled)
    assert not enabled or said["held"]["hits"] >= 3


def test_a_script_is_told_of_the_database_behind_it(
    bring_up: Callable[[dict[str, Any]], Topology], program: Callable[[str], str]
) -> None:
    if not list(Path("/usr/lib/php").glob("*/mysqli.so")):
        program("php-mysql")
    php = {"kind": "php-fpm", "files": {"ask.php": ASK}, "before": {"db": {"kind": "mariadb"}}}
    web = {"kind": "nginx", "files": {"style.css": "a {}"}, "before": {"php": php}}
    topology = bring_up(web)
    assert page(topology, "/ask.php") == "42"
    assert page(topology, "/style.css") == "a {}"
    topology.restart("db")
    assert page(topology, "/ask.php") == "42"


def test_a_database_behind_a_balancer_is_asked_as_a_database(
    bring_up: Callable[[dict[str, Any]], Topology], tmp_path: Path
) -> None:
    topology = bring_up({"kind": "haproxy", "before": {"cache": {"kind": "redis"}}})
    assert topology.urls[0].startswith("redis://:${env:BENCHLAB_PASSWORD}@127.0.0.1:")
    assert topology.urls != topology.addresses["cache"]
    assert topology.keep(tmp_path / "snapshot")
    topology.restore(tmp_path / "snapshot")
    assert topology.died() is None
    farmed = bring_up({"kind": "haproxy", "before": {"web": {"kind": "nginx"}}})
    roots = dict(farmed.roots)
    assert not farmed.keep(tmp_path / "x")
    assert farmed.roots == roots, "who keeps nothing is not started again for it"
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("system", "said"),
    [
        (farm(settings={"opcache.enabel": 1}), "php: PHP knows no directive `opcache.enabel`"),
        (
            farm(settings={"memory_limit": "10X"}),
            "php: PHP has `memory_limit` at `128M`, and does not take `10X`",
        ),
        (farm(settings={"opcache.memory_consumption": "4"}), "does not take `4`"),
        (farm(settings={"pm.max_childen": 1}), "unknown entry 'pm.max_childen'"),
        (
            {**farm(), "settings": {"global.maxconn": -1}},
            "would take `maxconn -1` for another number",
        ),
        (
            {
                "kind": "haproxy",
                "settings": {"balance": "uri"},
                "before": {"kv": {"kind": "redis"}},
            },
            "site: Layer 7 hash not possible for backend 'back'",
        ),
        ({**farm(), "settings": {"blance": "source"}}, "unknown keyword 'blance' in 'defaults'"),
        (
            {**farm(), "settings": {"global.nbthreads": 2}},
            "unknown keyword 'nbthreads' in 'global'",
        ),
    ],
)
def test_a_wrong_setting_is_told_in_the_servers_own_words(
    system: dict[str, Any], said: str, bring_up: Callable[[dict[str, Any]], Topology]
) -> None:
    with pytest.raises(HostError) as refused:
        bring_up(system)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("name", "system", "said"),
    [
        ("haproxy", {}, "systems.haproxy: passes on what it is asked, so it needs `before:`"),
        (
            "php-fpm",
            {},
            "systems.php-fpm: no driver speaks fastcgi: name it in `before:` of a system that one"
            " asks",
        ),
        (
            "nginx",
            {"before": {"db": {"kind": "mariadb"}}},
            "systems.nginx.before: one system that speaks one of http:, fastcgi: stands behind a"
            " nginx",
        ),
        (
            "site",
            {"kind": "nginx", "before": {"web": {"kind": "haproxy"}}},
            "systems.site.before.web: passes on what it is asked, so it needs `before:`",
        ),
    ],
)
def test_what_cannot_stand_so_is_refused(name: str, system: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        kind_of(name, read(name, system))
    assert str(refused.value) == said


def test_what_one_part_lacks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        programs, "_every", lambda name: iter(() if name == "php-fpm" else ("/bin/true",))
    )
    programs.look.cache_clear()
    site = read("site", farm())
    try:
        told = kind_of("site", site).missing(site)
    finally:
        programs.look.cache_clear()
    assert told == "needs php-fpm: apt-get install php-fpm"
