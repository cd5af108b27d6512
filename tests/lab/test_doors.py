"""Counters of servers that already run, whose password stands only where their own client looks,
and whose connections may be encrypted."""

import os
import pwd
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from theirs import Theirs

from benchlab.host import ports
from benchlab.host.counters import Source
from benchlab.host.processes import Leash
from benchlab.lab.opening import KNOWN
from benchlab.load.drivers import let_in
from benchlab.load.passwords import password_of
from benchlab.model.cases import cases
from benchlab.model.reading import read_mapping
from benchlab.systems import Place, at
from benchlab.systems.openldap import ADMIN

pytestmark = pytest.mark.real

PASSWORD = "hush%40@/:#"
"""Its signs would mean something else in a URL."""
ASKED: Mapping[str, Mapping[str, Any]] = {
    "ldap": {"ldap": {"search": {"base": "", "scope": "base"}}},
    "memcached": {"command": ["mn"]},
    "mysql": {"sql": "SELECT 1"},
    "postgresql": {"sql": "SELECT 1"},
    "redis": {"command": ["PING"]},
}
"""By the beginning of the URL."""


@pytest.fixture
def leash() -> Iterator[Leash]:
    with Leash() as leash:
        yield leash


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing is known but what a test says."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("PGPASSWORD", "PGUSER", "PGPASSFILE", "PGSERVICE", "MYSQL_PWD", "REDISCLI_AUTH"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def certified(leash: Leash, certify: Callable[[Path, str], Path]) -> Callable[[str], Path]:
    """The folder of a certificate of 127.0.0.1 that a server's user may read."""

    def make(user: str) -> Path:
        folder = leash.folder()
        folder.chmod(0o755)
        certify(folder, "IP:127.0.0.1")
        if os.geteuid() == 0:
            account = pwd.getpwnam(user)
            os.chown(folder / "key.pem", account.pw_uid, account.pw_gid)
        return folder

    return make


def source(url: str, leash: Leash, ca: Path | None = None) -> Source:
    """The counters of a running system, as the lab would ask for them."""
    system = {"at": url, **({"tls": {"ca": str(ca)}} if ca else {})}
    asked = next(asked for name, asked in ASKED.items() if url.startswith(name))
    text = {"experiment": "x", "systems": {"there": system}, "workload": {"mix": {"one": asked}}}
    case = cases(read_mapping(text, known=KNOWN))[0]
    place = Place(
        leash,
        leash.folder(),
        password=password_of(case) or "made for others",
        let_in=let_in(case),
        pause=lambda seconds: False,
    )
    (found,) = at.start("there", case.system, place).counters
    assert "hush" not in f"{place}{found}"
    return found


def told(of: Source) -> Mapping[str, float]:
    """Asked twice over one connection."""
    reader = of.connect()
    try:
        reader.read()
        return reader.read()
    finally:
        reader.close()


def theirs(kind: str, leash: Leash, **settings: object) -> int:
    """Starts a server of somebody else's; its port."""
    given = {name: str(value) for name, value in settings.items()}
    started = Theirs(kind, leash, leash.folder(), password=PASSWORD, settings=given)
    return started.server.port


def test_postgresql_by_its_variable_and_encrypted_by_its_file(
    program: Callable[[str], str],
    leash: Leash,
    certified: Callable[[str], Path],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program("postgres")
    folder = certified("postgres")
    files = {"ssl_cert_file": folder / "cert.pem", "ssl_key_file": folder / "key.pem"}
    port = theirs("postgresql", leash, ssl="on", **files)
    with monkeypatch.context() as patched:
        patched.setenv("PGPASSWORD", PASSWORD)
        assert told(source(f"postgresql://bench@127.0.0.1:{port}/bench", leash))["xact_commit"] > 0
    (home / ".pgpass").write_text(f"127.0.0.1:{port}:bench:bench:{PASSWORD}\n")
    (home / ".pgpass").chmod(0o600)
    url = f"postgresqls://bench@127.0.0.1:{port}/bench"
    assert told(source(url, leash, folder / "cert.pem"))["numbackends"] > 0
    with pytest.raises(ssl.SSLCertVerificationError):
        source(url, leash).connect()


def test_mysql_by_its_variable_and_encrypted_by_its_file(
    program: Callable[[str], str],
    leash: Leash,
    certified: Callable[[str], Path],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program("mariadbd")
    folder = certified("mysql")
    files = {"ssl_cert": folder / "cert.pem", "ssl_key": folder / "key.pem"}
    port = theirs("mariadb", leash, **files)
    with monkeypatch.context() as patched:
        patched.setenv("MYSQL_PWD", PASSWORD)
        assert told(source(f"mysql://bench@127.0.0.1:{port}/bench", leash))["Questions"] > 0
    (home / ".my.cnf").write_text(f'[client]\nuser = bench\npassword = "{PASSWORD}"\n')
    url = f"mysqls://127.0.0.1:{port}/bench"
    assert told(source(url, leash, folder / "cert.pem"))["Threads_connected"] > 0
    with pytest.raises(Exception, match="certificate verify failed"):
        source(url, leash).connect()


def test_redis_by_its_variable_and_encrypted(
    program: Callable[[str], str],
    leash: Leash,
    certified: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program("redis-server")
    folder, encrypted = certified("root"), ports.free()
    files = {"tls-cert-file": folder / "cert.pem", "tls-key-file": folder / "key.pem"}
    more = {"tls-port": encrypted, "tls-auth-clients": "no"}
    port = theirs("redis", leash, **files, **more)
    with pytest.raises(ConnectionError, match="NOAUTH"):
        told(source(f"redis://127.0.0.1:{port}", leash))
    monkeypatch.setenv("REDISCLI_AUTH", PASSWORD)
    assert told(source(f"redis://127.0.0.1:{port}", leash))["total_commands_processed"] > 0
    url = f"rediss://127.0.0.1:{encrypted}"
    assert told(source(url, leash, folder / "cert.pem"))["connected_clients"] > 0
    with pytest.raises(ssl.SSLCertVerificationError):
        source(url, leash).connect()


def test_ldap_by_its_variables_and_encrypted_on_the_way(
    program: Callable[[str], str],
    leash: Leash,
    certified: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program("slapd")
    folder = certified("root")
    files = {"TLSCertificateFile": folder / "cert.pem", "TLSCertificateKeyFile": folder / "key.pem"}
    port = theirs("openldap", leash, **files)
    monkeypatch.setenv("LDAPBINDDN", ADMIN)
    monkeypatch.setenv("LDAPPASSWORD", PASSWORD)
    assert told(source(f"ldap://127.0.0.1:{port}/dc=bench", leash))["search_completed"] > 0
    url = f"ldap://127.0.0.1:{port}/dc=bench?start_tls=yes"
    assert told(source(url, leash, folder / "cert.pem"))["bind_completed"] > 0
    with pytest.raises(ssl.SSLCertVerificationError):
        source(url, leash).connect()


def test_memcached_by_its_variable_and_encrypted(
    program: Callable[[str], str],
    leash: Leash,
    certified: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, port = certified("root"), ports.free()
    (folder / "users").write_text(f"me:{PASSWORD}\n")
    files = f"ssl_chain_cert={folder}/cert.pem,ssl_key={folder}/key.pem"
    memcached = [program("memcached"), "-l", "127.0.0.1", "-p", str(port)]
    if os.geteuid() == 0:
        memcached += ["-u", "root"]
    leash.start([*memcached, "-Z", "-o", files, "-Y", f"{folder}/users"], folder=folder)
    deadline = time.monotonic() + 20
    while not ports.accepts("127.0.0.1", port, 1.0):
        assert time.monotonic() < deadline
        leash.listen(0.02)
    monkeypatch.setenv("MEMCACHED_PASSWORD", PASSWORD)
    url = f"memcacheds://me@127.0.0.1:{port}"
    assert told(source(url, leash, folder / "cert.pem"))["curr_connections"] > 0
    monkeypatch.setenv("MEMCACHED_PASSWORD", "wrong")
    with pytest.raises(PermissionError, match="authentication failure"):
        source(url, leash, folder / "cert.pem").connect()
