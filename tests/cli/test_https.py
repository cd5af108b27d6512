"""Encrypted systems as a user types them: a real nginx with a certificate of its own making."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchlab import store
from benchlab.cli.main import outcome
from benchlab.host import ports
from benchlab.model.errors import Exit

NGINX = """
daemon off;
pid {folder}/nginx.pid;
worker_processes 1;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {folder}/cert.pem;
    ssl_certificate_key {folder}/key.pem;
    ssl_protocols {protocol};
    location = /hello {{ default_type text/plain; return 200 'hello, $ssl_protocol'; }}
    location = /start {{ add_header Set-Cookie 'seen=1; Path=/; Secure'; return 302 /seen; }}
    location = /seen {{ if ($cookie_seen) {{ return 200 'welcome'; }} return 403; }}
  }}
}}
"""
QUICK = ("-d", "200ms", "-c", "2", "--quiet", "--sessions", "1", "--json")


@dataclass(frozen=True)
class Encrypted:
    """A server whose certificate is in a file and known to nobody else."""

    url: str
    certificate: Path


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHLAB_STORE", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory,
    program: Callable[[str], str],
    certify: Callable[[Path, str], Path],
) -> Iterator[Encrypted]:
    nginx_program = program("nginx")
    folder = tmp_path_factory.mktemp("nginx")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    certificate = certify(folder, "DNS:shop.example")
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, protocol="TLSv1.3"))
    command = [nginx_program, "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")]
    nginx = subprocess.Popen(command)
    deadline = time.monotonic() + 10
    while not ports.accepts("127.0.0.1", port, 0.1):
        assert nginx.poll() is None and time.monotonic() < deadline
    yield Encrypted(f"https://127.0.0.1:{port}/hello", certificate)
    nginx.terminate()
    nginx.wait(10)


def test_any_certificate_will_do_when_asked(
    capsys: pytest.CaptureFixture[str], server: Encrypted
) -> None:
    code = outcome(["try", "--insecure", f"shop={server.url}", *QUICK])
    summary = json.loads(capsys.readouterr().out)
    assert code == Exit.DONE
    (case,) = summary["cases"]
    assert case["state"] == "ok"
    run = store.find("last")
    plans = [json.loads(path.read_text()) for path in run.path.rglob("plan.json")]
    kinds = {(plan["driver"]["targets"][0].partition(":")[0], str(plan["tls"])) for plan in plans}
    # The trial's, and the null server's for ceiling and floor.
    assert len(plans) >= 3
    assert {scheme for scheme, _ in kinds} == {"https"}, kinds
    assert all(not plan["tls"]["verify"] for plan in plans)


def test_a_certificate_that_nobody_trusts_is_refused(
    capsys: pytest.CaptureFixture[str], server: Encrypted
) -> None:
    outcome(["try", server.url, *QUICK[:-1]])
    said = " ".join(capsys.readouterr().out.split())
    assert "100.00% of transactions failed" in said
    assert "invalid peer certificate" in said
    assert "--insecure" in said


EXPERIMENT = """
experiment: encrypted
systems:
  shop:
    at: {url}
    tls: {tls}
workload:
  mix:
    page: {{get: /hello, expect: {{body: "hello, TLSv1.3"}}}}
load: {{clients: 2, duration: 200ms, warmup: 50ms}}
sessions: 1
blocks: 1
"""


def test_a_certificate_is_trusted_by_its_file(
    capsys: pytest.CaptureFixture[str], server: Encrypted, tmp_path: Path
) -> None:
    shutil.copy(server.certificate, tmp_path / "shop.pem")
    for tls, states in (
        ("{ca: shop.pem, server_name: shop.example}", {"ok"}),
        ("{ca: shop.pem}", {"failing"}),
    ):
        (tmp_path / "e.yaml").write_text(EXPERIMENT.format(url=server.url, tls=tls))
        outcome(["run", "e.yaml", "--quiet", "--json"])
        summary = json.loads(capsys.readouterr().out)
        assert {case["state"] for case in summary["cases"]} == states, summary["cases"]


BROWSER = """
experiment: browser
systems:
  shop: {{at: {url}, tls: {{verify: false}}}}
workload:
  mix:
    visit: {{get: /start, expect: {{body: welcome, size: [7, 7]}}}}
load: {{clients: 2, duration: 200ms, warmup: 50ms, cookies: keep, redirects: {redirects}}}
sessions: 1
blocks: 1
"""


def test_a_client_follows_where_a_cookie_leads(
    capsys: pytest.CaptureFixture[str], server: Encrypted, tmp_path: Path
) -> None:
    for redirects, state in (("follow", "ok"), ("leave", "failing")):
        (tmp_path / "e.yaml").write_text(BROWSER.format(url=server.url, redirects=redirects))
        outcome(["run", "e.yaml", "--quiet", "--json"])
        (case,) = json.loads(capsys.readouterr().out)["cases"]
        assert case["state"] == state, case


@pytest.mark.parametrize(
    ("at", "tls", "message"),
    [
        ("https://127.0.0.1:9/", "{verifi: false}", "did you mean verify"),
        ("https://127.0.0.1:9/", "{verify: false, ca: x.pem}", "takes any certificate"),
        ("http://127.0.0.1:9/", "{verify: false}", "is not encrypted"),
        ("https://127.0.0.1:9/", "{ca: nowhere.pem}", "nowhere.pem"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, at: str, tls: str, message: str
) -> None:
    (tmp_path / "e.yaml").write_text(EXPERIMENT.format(url=at, tls=tls))
    code = outcome(["run", "e.yaml"])
    err = capsys.readouterr().err
    assert code == Exit.BAD_INPUT
    assert message in err
    assert err.count("\n") == 1


def test_insecure_is_for_encrypted_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(["try", "--insecure", "http://127.0.0.1:9/"]) == Exit.BAD_INPUT
    assert "no URL here is of https:" in capsys.readouterr().err
