"""Cases become Plans: the driver by scheme, the requests by workload, the times by load."""

from pathlib import Path
from typing import Any

import pytest

from benchlab.load.plan import loading_plan, make_plan, seeds
from benchlab.load.workloads import known
from benchlab.model.cases import cases
from benchlab.model.errors import InputError
from benchlab.model.experiment import Case
from benchlab.model.reading import read_mapping
from benchlab.model.schemes import SCHEMES
from benchlab.model.sections import Known

KNOWN = Known(workloads=known())
SHOP = ["http://127.0.0.1:8080/"]
DATABASE = ["sqlite:/data/x.db"]


def case(
    workload: dict[str, Any], load: dict[str, Any] | None = None, at: str | None = SHOP[0]
) -> Case:
    system = {"at": at} if at else {"kind": "sqlite", "settings": {"cache_size": -2000}}
    data = {"experiment": "x", "systems": {"shop": system}, "workload": workload}
    return cases(read_mapping(data | {"load": load or {}}, known=KNOWN))[0]


def plan(found: Case, urls: list[str] | None = None, **more: Any) -> dict[str, Any]:
    where = {"seed": 1, "session": 0, "block": 0} | more
    return make_plan(found, urls=urls or SHOP, **where)


PAGE = {"mix": {"page": {"get": "/"}}}
SELECT = {"mix": {"point": {"sql": "SELECT 1"}}}
GET = {"mix": {"read": {"command": ["GET", "k:${id}"]}}, "values": {"id": {"uniform": [1, 9]}}}
BUDDIES = {"name": "buddies", "data": {"users": 2500}}


def test_a_mix_over_http() -> None:
    mix = {
        "page": {
            "get": "/item/${id}",
            "headers": {"Accept": "text/html"},
            "weight": 9,
            "expect": {"status": 200, "contains": "${id}"},
        },
        "visit": {"transaction": [{"get": "/", "name": "front"}, {"post": "/o", "body": "x"}]},
    }
    found = plan(
        case({"mix": mix, "values": {"id": {"zipfian": [1, 100]}}}, {"duration": "2s"}),
        ["http://a:1/", "http://[::1]/"],
        cpus=[0, 1],
    )
    assert found["version"] == 1
    assert found["driver"] == {"kind": "http", "targets": ["http://a:1", "http://[::1]:80"]}
    assert found["workload"]["values"] == {"id": {"zipfian": {"low": 1, "high": 100}}}
    page, visit = found["workload"]["transactions"]
    assert (page["name"], page["weight"]) == ("page", 9.0)
    assert page["operations"][0]["request"]["http"] == {
        "method": "GET",
        "path": "/item/${id}",
        "headers": [["Accept", "text/html"]],
        "body": None,
    }
    assert page["operations"][0]["expect"]["status"] == [200]
    assert page["operations"][0]["expect"]["contains"] == "${id}"
    assert [operation["name"] for operation in visit["operations"]] == ["front", "visit.2"]
    assert visit["operations"][1]["request"]["http"]["method"] == "POST"
    assert (found["workers"], found["cpus"]) == (2, [0, 1])


def test_times_of_a_closed_load() -> None:
    found = plan(
        case(PAGE, {"clients": 3, "think": "10ms", "warmup": "300ms", "timeout": "2s"}),
        cpus=[2, 3, 4, 5],
    )
    assert found["schedule"] == {"closed": {"clients": 3, "think": {"constant_ns": 10_000_000}}}
    assert (found["warmup_ns"], found["timeout_ns"]) == (300_000_000, 2_000_000_000)
    assert found["stop"] == {"duration_ns": 5_000_000_000}
    assert found["workers"] == 3, "a worker without a client has nothing to do"
    assert found["connection"] == "kept"


@pytest.mark.parametrize(
    ("transactions", "stop"),
    [(60000, {"transactions": 60000}), ("600 per client", {"per_client": 600})],
)
def test_ending_by_count(transactions: Any, stop: dict[str, int]) -> None:
    found = plan(case(PAGE, {"transactions": transactions, "connection": "new"}))
    assert found["stop"] == stop
    assert found["connection"] == "new"
    assert found["schedule"] == {"closed": {"clients": 16, "think": "none"}}


def segment(begin: float, end: float, length_ns: int) -> dict[str, float]:
    return {"from_per_second": begin, "to_per_second": end, "length_ns": length_ns}


def test_an_open_load_with_a_shape() -> None:
    ramp = {"to": "500/s", "over": "1s"}
    shape = [ramp, {"hold": "2s"}, {"step": "900/s"}, {"hold": "500ms"}, {"step": "50/s"}]
    load = {"rate": "100/s", "arrivals": "constant", "connections": 8, "duration": "10s"}
    found = plan(case(PAGE, {**load, "shape": shape}))
    assert found["schedule"] == {
        "open": {
            "arrivals": "constant",
            "connections": 8,
            "shape": [
                segment(100, 500, 1_000_000_000),
                segment(500, 500, 2_000_000_000),
                segment(900, 900, 500_000_000),
                segment(50, 50, 6_500_000_000),
            ],
        }
    }


def test_a_shape_gives_the_duration() -> None:
    found = plan(case(PAGE, {"rate": "10/s", "shape": [{"hold": "2s"}, {"hold": "1s"}]}))
    assert found["stop"] == {"duration_ns": 3_000_000_000}
    assert len(found["schedule"]["open"]["shape"]) == 2


def test_a_flat_open_load() -> None:
    shape = plan(case(PAGE, {"rate": "10/s"}))["schedule"]["open"]["shape"]
    assert shape == [segment(10, 10, 5_000_000_000)]
    by_count = plan(case(PAGE, {"rate": "10/s", "transactions": 7}))
    assert by_count["schedule"]["open"]["shape"] == [segment(10, 10, 1_000_000_000)]


def test_a_last_step_needs_time() -> None:
    shape = [{"hold": "5s"}, {"step": "9/s"}]
    with pytest.raises(InputError, match=r"load\.shape: ends in a step"):
        plan(case(PAGE, {"rate": "10/s", "shape": shape}))


def test_seeds_are_a_blocks_and_contents_the_experiments() -> None:
    first = seeds(1, 0, 0)
    assert plan(case(PAGE))["seeds"] == plan(case(BUDDIES, at=None), DATABASE)["seeds"] == first
    others = [seeds(1, 0, 1), seeds(1, 1, 0), seeds(2, 0, 0)]
    for name in ("keys", "arrivals", "faults"):
        assert len({found[name] for found in [first, *others]}) == 4
    assert first["values"] == others[0]["values"] == others[1]["values"] != others[2]["values"]
    assert len(set(first.values())) == 4


def test_buddies_each() -> None:
    found = plan(case(BUDDIES, at=None), DATABASE)
    assert found["driver"] == {
        "kind": "sqlite",
        "path": "/data/x.db",
        "pragmas": {"cache_size": "-2000"},
    }
    values = found["workload"]["values"]
    assert values["user"] == {"uniform": {"low": 1, "high": 2500}}
    (login,) = found["workload"]["transactions"]
    assert login["name"] == "login"
    user, buddy = login["operations"]
    assert (user["expect"]["rows"], user["expect"]["first"]) == ("1", "${user_name}")
    assert (buddy["for_each"], buddy["expect"]["first"]) == ("buddies", "${buddy_name}")
    assert values["buddies"]["list"] == {
        "low": 1,
        "high": 2500,
        "length": {"low": 10, "high": 100},
        "distinct": True,
    }


def test_buddies_together_and_lazily() -> None:
    together = plan(case({**BUDDIES, "options": {"fetch": "together"}}, at=None), DATABASE)
    buddies = together["workload"]["transactions"][0]["operations"][1]
    assert (buddies["for_each"], buddies["expect"]["rows"]) == (None, "${buddies}")
    assert buddies["expect"]["keyed"] in together["workload"]["values"]
    assert "IN (${buddies})" in buddies["request"]["sql"]
    lazy = plan(case({**BUDDIES, "options": {"fetch": "lazy"}}, at=None), DATABASE)
    assert len(lazy["workload"]["transactions"][0]["operations"]) == 1


def test_loading_buddies() -> None:
    each, lazy = (
        loading_plan(case({**BUDDIES, "options": {"fetch": fetch}}, at=None), urls=DATABASE, seed=1)
        for fetch in ("each", "lazy")
    )
    assert each is not None
    assert each == lazy, "what is asked has no part in the data"
    assert each["stop"] == {"transactions": 3}
    assert each["workload"]["values"]["ids"] == {
        "batch": {"start": 1, "length": 1000, "last": 2500}
    }
    assert each["driver"]["pragmas"] == {"cache_size": "-2000", "synchronous": "off"}
    measured = plan(case(BUDDIES, at=None), DATABASE, session=3)
    assert each["seeds"]["values"] == measured["seeds"]["values"]
    (loaded,) = [v["text"] for v in each["workload"]["values"].values() if "text" in v]
    asked = measured["workload"]["values"]["user_name"]["text"]
    assert loaded["length"] == asked["length"]
    assert loading_plan(case(PAGE), urls=SHOP, seed=1) is None


def test_a_running_database_is_not_filled_unless_it_is_said_where() -> None:
    with pytest.raises(InputError, match="already running: write `into: NAME` for data that are"):
        loading_plan(case(BUDDIES, at="sqlite:/srv/app.db"), urls=["sqlite:/srv/app.db"], seed=1)


def page(urls: list[str], **options: Any) -> dict[str, Any]:
    found = plan(case({"name": "page", "options": options}), urls)
    (transaction,) = found["workload"]["transactions"]
    operation: dict[str, Any] = transaction["operations"][0]
    return operation


def test_a_page_is_its_url() -> None:
    request = page(["http://h/a?b=${c}"])["request"]["http"]
    assert request == {"method": "GET", "path": "/a?b=$${c}", "headers": [], "body": None}
    assert page(["http://h"])["request"]["http"]["path"] == "/"
    posted = page(SHOP, body="{${x}}", headers={"A": "${y}"}, path="/p", expect={"status": 201})
    assert posted["request"]["http"] == {
        "method": "POST",
        "path": "/p",
        "headers": [["A", "$${y}"]],
        "body": "{$${x}}",
    }
    assert posted["expect"]["status"] == [201]
    assert page(SHOP, method="DELETE")["request"]["http"]["method"] == "DELETE"
    with pytest.raises(InputError, match="differ"):
        page(["http://h/a", "http://h/b"])


def test_commands_to_redis() -> None:
    expect = {"reply": 1, "contains": "1", "rows": "${ids}"}
    mix = {"mix": {"read": {"command": ["MGET", "k:${ids}", 7], "expect": expect}}}
    mix["values"] = {"ids": {"list": {"low": 1, "high": 9, "length": 3}}}
    at = "rediss://me:${env:SECRET}@a:7/3?resp=3"
    # What a Plan is made for has been filled in; the secret is not in it.
    found = plan(
        case(mix, {"clients": 32, "pipeline": 16}, at=at), ["rediss://me:secret@a:7/3?resp=3"]
    )
    assert found["driver"] == {
        "kind": "redis",
        "targets": ["rediss://a:7"],
        "user": "me",
        "password": "${env:SECRET}",
        "database": 3,
        "resp": 3,
        "cluster": False,
    }
    assert found["pipeline"] == 16
    (operation,) = found["workload"]["transactions"][0]["operations"]
    assert operation["request"] == {"command": ["MGET", "k:${ids}", "7"]}
    assert (operation["expect"]["reply"], operation["expect"]["rows"]) == ("1", "${ids}")
    plain = plan(case(GET, at="redis://a"), ["redis://a"])["driver"]
    assert (plain["targets"], plain["password"]) == (["redis://a:6379"], None)
    assert (plain["database"], plain["resp"]) == (0, 2)
    nodes = ["redis://a:1?cluster=true", "redis://b:2?cluster=true"]
    cluster = plan(case(GET, at=nodes[0]), nodes)["driver"]
    assert (cluster["targets"], cluster["cluster"]) == (["redis://a:1", "redis://b:2"], True)


def test_commands_to_memcached(monkeypatch: pytest.MonkeyPatch) -> None:
    mix = {"mix": {"write": {"command": ["set", "k:${id}", 0, 0, "${text}"]}}}
    mix["values"] = {"id": {"uniform": [1, 9]}, "text": {"text": {"length": 9, "key": "id"}}}
    monkeypatch.setenv("MEMCACHED_PASSWORD", "hush-hush")
    found = plan(case(mix, at="memcacheds://me@a"), ["memcacheds://me@a"])
    assert found["driver"] == {
        "kind": "memcached",
        "targets": ["memcacheds://a:11211"],
        "sharding": "ketama",
        "user": "me",
        "password": "${env:MEMCACHED_PASSWORD}",
    }
    several = ["memcached://a?sharding=modulo", "memcached://b:2?sharding=modulo"]
    driver = plan(case(mix, at=several[0]), several)["driver"]
    assert driver["targets"] == ["memcached://a:11211", "memcached://b:2"]
    assert driver["sharding"] == "modulo"
    (operation,) = found["workload"]["transactions"][0]["operations"]
    assert operation["request"] == {"command": ["set", "k:${id}", "0", "0", "${text}"]}


DISK = {
    "mix": {
        "page": {"read": "16KiB", "at": "${n}", "expect": {"intact": True}, "weight": 3},
        "log": {"transaction": [{"write": "512B"}, {"sync": "data"}]},
    },
    "values": {"n": {"uniform": [0, 99]}},
}


def disk(settings: dict[str, Any], workload: dict[str, Any] = DISK) -> Case:
    systems = {"disk": {"kind": "file", "settings": settings}}
    data = {"experiment": "x", "systems": systems, "workload": workload}
    return cases(read_mapping(data, known=KNOWN))[0]


def test_reads_writes_and_syncs_of_a_file() -> None:
    found = plan(disk({}), ["file:/a%20b?size=1MiB&direct=true"])
    driver = {"kind": "file", "path": "/a b", "size_bytes": 2**20, "direct": True}
    assert found["driver"] == driver
    (read,), log = (t["operations"] for t in found["workload"]["transactions"])
    assert read["request"] == {"file": {"read": {"at": "${n}", "bytes": 16384}}}
    assert read["expect"]["intact"]
    assert [step["request"]["file"] for step in log] == [
        {"write": {"at": None, "bytes": 512}},
        {"sync": "data"},
    ]
    assert "intact" not in log[0]["expect"]
    plain = plan(case(DISK, at="file:/a"), ["file:/a"])["driver"]
    assert plain == {"kind": "file", "path": "/a", "size_bytes": None, "direct": False}


def test_a_file_of_ones_own_is_laid_out_from_end_to_end() -> None:
    for size, block, count in [("64MiB", 2**23, 8), ("1536KiB", 2**19, 3), ("512B", 512, 1)]:
        found = loading_plan(disk({}), urls=[f"file:/a?size={size}"], seed=1)
        assert found is not None
        write, sync = found["workload"]["transactions"][0]["operations"]
        assert write["request"] == {"file": {"write": {"at": None, "bytes": block}}}
        assert sync["request"] == {"file": {"sync": "data"}}
        assert found["stop"] == {"transactions": count}
        # What it writes is what trials expect to read.
        assert found["seeds"]["values"] == plan(disk({}), ["file:/a"])["seeds"]["values"]
    there = case(DISK, at="file:/a")
    assert loading_plan(there, urls=["file:/a"], seed=1) is None


def test_requests_to_a_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("LDAPBINDDN", "LDAPPASSWORD"):
        monkeypatch.delenv(variable, raising=False)
    find = {"scope": "one", "filter": "(|(uid=${ids}))", "attributes": "uid"}
    mail = {"dn": "uid=1", "replace": {"mail": "a@b"}, "delete": {"note": []}}
    mix = {
        "mix": {
            "find": {"ldap": {"search": find}, "expect": {"rows": "${ids}", "first": 1}},
            "move": {"ldap": {"modify": mail}},
            "drop": {"ldap": {"delete": {"dn": "uid=1"}}},
        },
        "values": {"ids": {"list": {"low": 1, "high": 9, "length": 3}}},
    }
    at = "ldaps://cn=me,dc=lab:${env:SECRET}@a/ou=p,dc=lab"
    found = plan(case(mix, at=at), [at.replace("${env:SECRET}", "secret")])
    assert found["driver"] == {
        "kind": "ldap",
        "targets": ["ldaps://a:636"],
        "user": "cn=me,dc=lab",
        "password": "${env:SECRET}",
        "start_tls": False,
    }
    asked = [each["operations"][0]["request"]["ldap"] for each in found["workload"]["transactions"]]
    base = "ou=p,dc=lab"
    assert asked == [
        {"search": {**find, "base": base, "attributes": ["uid"]}},
        {"modify": {**mail, "dn": f"uid=1,{base}", "replace": {"mail": ["a@b"]}}},
        {"delete": {"dn": f"uid=1,{base}"}},
    ]
    plain = plan(case(mix, at="ldap://a?start_tls=yes"), ["ldap://a?start_tls=yes"])
    assert plain["driver"] == {
        "kind": "ldap",
        "targets": ["ldap://a:389"],
        "user": None,
        "password": None,
        "start_tls": True,
    }
    assert plain["tls"] == {"verify": True, "ca": None, "server_name": None}
    drop = plain["workload"]["transactions"][2]["operations"][0]
    assert drop["request"]["ldap"] == {"delete": {"dn": "uid=1"}}
    monkeypatch.setenv("LDAPBINDDN", "cn=x")
    with pytest.raises(InputError, match="cn=x needs a password: set LDAPPASSWORD"):
        plan(case(mix, at="ldap://a"), ["ldap://a"])
    monkeypatch.setenv("LDAPPASSWORD", "secret")
    asker = plan(case(mix, at="ldap://a"), ["ldap://a"])["driver"]
    assert (asker["user"], asker["password"]) == ("cn=x", "${env:LDAPPASSWORD}")


def test_clients_share_connections_in_whole_groups() -> None:
    with pytest.raises(InputError, match=r"16 clients cannot share .* in groups of 3"):
        case(GET, {"clients": 16, "pipeline": 3}, at="redis://a")
    with pytest.raises(InputError, match="carries one at a time"):
        case(GET, {"pipeline": 2, "connection": "new"}, at="redis://a")
    open_load = case(GET, {"rate": "10/s", "pipeline": 3}, at="redis://a")
    assert plan(open_load, ["redis://a"])["pipeline"] == 3


def test_what_a_client_of_the_web_does(tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(b"\xff\x00${id}")
    post = {
        "post": "/",
        "body_file": "picture",
        "chunks": "4KiB",
        "expect": {"size": [1, 99]},
    }
    mix = {"put": post, "get": {"get": "/", "expect": {"size": "20B"}}}
    load = {"cookies": "keep", "redirects": "follow"}
    found = plan(case({"mix": mix}, load), folder=tmp_path)
    driver = {"kind": "http", "targets": ["http://127.0.0.1:8080"], **load}
    assert found["driver"] == driver
    put, get = (kind["operations"][0] for kind in found["workload"]["transactions"])
    assert put["request"]["http"]["body_file"] == str(tmp_path / "picture")
    assert put["request"]["http"]["chunk_bytes"] == 4096
    assert put["expect"]["size"] == {"low": 1, "high": 99}
    assert get["expect"]["size"] == 20
    with pytest.raises(InputError, match="cookies: sqlite has none"):
        plan(case(BUDDIES, {"cookies": "keep"}, at=None), DATABASE)


def test_a_body_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "order.json").write_text('@{"id": "ü"}')
    mix = {"mix": {"order": {"post": "/", "body": "@order.json"}}}
    for workload in (mix, {"name": "page", "options": {"body": "@order.json"}}):
        found = plan(case(workload), folder=tmp_path)
        operation = found["workload"]["transactions"][0]["operations"][0]
        assert operation["request"]["http"]["body"] == '@{"id": "ü"}'
    with pytest.raises(InputError, match=r"workload\.mix\.order\.body: cannot read .*nowhere"):
        plan(case(mix), folder=tmp_path / "nowhere")
    (tmp_path / "order.json").write_bytes(b"\xff")
    with pytest.raises(InputError, match="is not a text in UTF-8"):
        plan(case(mix), folder=tmp_path)


@pytest.mark.parametrize(
    ("workload", "urls", "message"),
    [
        (PAGE, ["gopher://h/"], "a driver for gopher: is not available in this version, which"
         f" speaks {', '.join(f'{name}:' for name in SCHEMES)}"),
        (PAGE, ["http://h/", "sqlite:x"], "the URLs of one system differ in their scheme: http,"
         " sqlite"),
        (PAGE, ["redis://h/"], "workload.mix.page: 'page' is not for redis:, which is asked"
         " command:"),
        (GET, SHOP, "workload.mix.read: 'read' is not for http:, which is asked get:, post: and"
         " their like"),
        (GET, ["redis://h/three"], "systems.shop: 'redis://h/three' is not"
         " redis://host:port/DATABASE?resp=2 (or 3), and for the nodes of a cluster &cluster=true"),
        (GET, ["redis://h?cluster=yes"], "systems.shop: 'redis://h?cluster=yes' is not"
         " redis://host:port/DATABASE?resp=2 (or 3), and for the nodes of a cluster &cluster=true"),
        (GET, ["redis://h?rest=3"], "systems.shop: 'redis://h?rest=3' is not"
         " redis://host:port/DATABASE?resp=2 (or 3), and for the nodes of a cluster &cluster=true"),
        (GET, ["redis://a?cluster=true", "redis://b"], "systems.shop.at: the URLs of one system"
         " differ in more than host and port"),
        (GET, ["memcached://h/1"], "systems.shop: 'memcached://h/1' is not memcached://host:port"
         "?sharding=ketama (or modulo)"),
        (GET, ["ldap://h/o=x?base"], "systems.shop: 'ldap://h/o=x?base' is not"
         " ldap://host:port/BASE?start_tls=yes"),
        (SELECT, ["postgresql://h/app?sslmode=require"], "systems.shop:"
         " 'postgresql://h/app?sslmode=require' is not postgresql://host:port/DATABASE"
         "?protocol=extended (or simple)"),
        (SELECT, ["mysql://h/app?protocol=simple"], "systems.shop:"
         " 'mysql://h/app?protocol=simple' is not mysql://host:port/DATABASE"
         "?protocol=prepared (or text)"),
        (GET, ["redis://a/1", "redis://b/2"], "systems.shop.at: the URLs of one system differ in"
         " more than host and port"),
        (PAGE, ["file:/a"], "workload.mix.page: 'page' is not for file:, which is asked read:,"
         " write: or sync:"),
        (DISK, ["file:/a", "file:/b"], "systems.shop.at: file: takes one path"),
        (DISK, ["file:a"], "systems.shop.at: 'file:a' is not file:/path?size=1GiB&direct=true"),
        (DISK, ["file:/a?sice=1GiB"], "systems.shop.at: 'file:/a?sice=1GiB' is not"
         " file:/path?size=1GiB&direct=true"),
        (PAGE, DATABASE, "workload.mix.page: 'page' is not for sqlite:, which is asked sql:"),
        ({"mix": {"q": {"sql": "SELECT 1"}}}, SHOP, "workload.mix.q: 'q' is not for http:, which is"
         " asked get:, post: and their like"),
        (BUDDIES, SHOP, "workload.name: buddies asks sqlite: in this version; shop is http:"),
        (PAGE, ["http://u:p@h/"], "a user in an http: URL is not sent; use a header"
         " `Authorization`"),
        (PAGE, ["http://h:99999/"], "'http://h:99999/' has no port between 1 and 65535"),
        (PAGE, ["http:///x"], "'http:///x' names no host"),
        (PAGE, ["http://[::1/"], "'http://[::1/' is no URL"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(workload: dict[str, Any], urls: list[str], message: str) -> None:
    with pytest.raises(InputError) as error:
        plan(case(workload), urls)
    assert str(error.value) == message


def driver(at: str, url: str | None = None) -> Any:
    return plan(case(SELECT, at=at), [url or at])["driver"]


def test_a_database_server_is_reached_by_its_url(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PGPASSWORD", "PGUSER"):
        monkeypatch.delenv(variable, raising=False)
    assert driver("postgresql://me@db:6432/app") == {
        "kind": "postgresql",
        "targets": ["postgresql://db:6432"],
        "user": "me",
        "password": None,
        "database": "app",
    }
    bare = driver("postgresqls://[::1]")
    assert bare["targets"] == ["postgresqls://[::1]:5432"]
    assert (bare["user"], bare["database"]) == ("postgres", None)
    assert "protocol" not in driver("postgresql://me@db/app?protocol=extended")
    simple = driver("postgresql://me@db:6432/app?protocol=simple")
    assert (simple["protocol"], simple["database"]) == ("simple", "app")


def test_mysql_is_reached_by_its_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MYSQL_PWD", raising=False)
    assert driver("mysql://me@db:3307/app") == {
        "kind": "mysql",
        "targets": ["mysql://db:3307"],
        "user": "me",
        "password": None,
        "database": "app",
    }
    written = "mysqls://me:${env:SECRET}@db"
    found = driver(written, written.replace("${env:SECRET}", "s3cret"))
    assert (found["targets"], found["password"]) == (["mysqls://db:3306"], "${env:SECRET}")
    monkeypatch.setenv("MYSQL_PWD", "s3cret")
    assert driver("mysql://db/app?protocol=text")["protocol"] == "text"
    bare = driver("mysql://db")
    assert (bare["user"], bare["database"]) == ("root", None)
    assert bare["password"] == "${env:MYSQL_PWD}"


def test_a_password_is_named_and_never_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    written = "postgresql://me:${env:SECRET}@db/app"
    filled = written.replace("${env:SECRET}", "s3cret")
    assert driver(written, filled)["password"] == "${env:SECRET}"
    monkeypatch.setenv("PGPASSWORD", "s3cret")
    assert driver("postgresql://me@db/app")["password"] == "${env:PGPASSWORD}"
    with pytest.raises(InputError, match="set PGPASSWORD") as refused:
        driver("postgresql://me@db/app", filled)
    assert "s3cret" not in str(refused.value)
