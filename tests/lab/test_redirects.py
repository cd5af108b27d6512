"""A redirect that would pass for an answer is told; one that is expected is not asked for."""

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from benchlab.lab.redirects import told


class Moved(http.server.BaseHTTPRequestHandler):
    """Sends everybody on, but those with a key."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200 if self.headers.get("Key") == "${k}" else 302)
        self.send_header("Location", "/login")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is read from it."""


@pytest.fixture
def server() -> Iterator[str]:
    Moved.asked = []
    with http.server.HTTPServer(("127.0.0.1", 0), Moved) as moved:
        thread = threading.Thread(target=moved.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{moved.server_port}"
        moved.shutdown()
        thread.join()


def plan(target: str, method: str = "GET", kind: str = "http", **given: Any) -> dict[str, Any]:
    """A Plan of one request."""
    request = {
        "method": method,
        "path": given.pop("path", "/"),
        "headers": given.pop("headers", []),
    }
    operation = {"name": "page", "request": {"http": request}, **given}
    return {
        "driver": {"kind": kind, "targets": [target]},
        "workload": {"transactions": [{"name": "page", "operations": [operation]}]},
    }


def test_a_redirect_is_told_with_where_it_leads(server: str) -> None:
    said = told(plan(server, path="/a$${b}"))
    assert said.startswith("GET /a${b}: status 302 (to /login): redirects are counted as answers")
    assert "expect: {status:" in said


def test_headers_are_sent_as_the_load_sends_them(server: str) -> None:
    assert told(plan(server, headers=[["Key", "$${k}"]])) == ""
    assert Moved.asked == ["/"]


@pytest.mark.parametrize(
    "given",
    [
        {"expect": {"status": [302]}},
        {"method": "POST"},
        {"path": "/item/${id}"},
        {"headers": [["Key", "${token}"]]},
        {"kind": "sqlite"},
    ],
)
def test_what_is_expected_drawn_or_a_write_is_not_asked(server: str, given: dict[str, Any]) -> None:
    assert told(plan(server, **given)) == ""
    assert Moved.asked == []


def test_a_server_that_is_not_there_is_left_to_the_trial(server: str) -> None:
    assert told(plan("http://127.0.0.1:9")) == ""
