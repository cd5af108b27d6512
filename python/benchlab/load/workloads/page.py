"""One request to one URL, again and again: what `try` asks of an address."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchlab.load.workloads.asked import Asked, BuiltIn, body_text
from benchlab.model.errors import InputError
from benchlab.model.experiment import Expect, Operation, Transaction, Workload
from benchlab.model.grammar import Choice, Record, Text
from benchlab.model.mixes import EXPECT, HEADERS, METHODS, PATH
from benchlab.model.sections import WorkloadKeys


def ask(workload: Workload, urls: Sequence[str], folder: Path, _case: str = "") -> Asked:
    """The request; without an option `path` it is the URL's own. No text in it is a template.

    Raises:
        InputError: when the URLs of one system have different paths and none is given.
    """
    options = workload.options
    paths = {request_path(url) for url in urls}
    if "path" not in options and len(paths) > 1:
        listed = " and ".join(sorted(paths))
        raise InputError(f"the URLs of one system differ ({listed})", key="workload.options.path")
    body = body_text(options.get("body"), folder, "workload.options.body")
    operation = Operation(
        name="page",
        method=options.get("method", "GET" if body is None else "POST"),
        path=_literal(options.get("path") or paths.pop()),
        headers=tuple((name, _literal(v)) for name, v in options.get("headers", {}).items()),
        body=None if body is None else _literal(body),
        expect=_literal_expect(options.get("expect", {})),
    )
    return Asked((Transaction(name="page", operations=(operation,)),))


def _literal(text: str) -> str:
    return text.replace("${", "$${")


def _literal_expect(expect: dict[str, Any]) -> Expect:
    texts = {key: _literal(v) for key, v in expect.items() if isinstance(v, str)}
    headers = {name: _literal(v) for name, v in expect.get("headers", {}).items()}
    return Expect.model_validate({**expect, **texts, "headers": headers})


def request_path(url: str) -> str:
    """The request target of a URL: its path and query, `/` when it has none."""
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


PAGE = BuiltIn(
    summary="one request to the system's URL: method, headers, body, path, expect",
    keys=WorkloadKeys(
        options=Record(
            {
                "method": Choice(tuple(method.upper() for method in METHODS)),
                "headers": HEADERS,
                "body": Text(),
                "path": PATH,
                "expect": EXPECT,
            }
        ),
        data=Record({}),
    ),
    schemes=("http", "https"),
    ask=ask,
)
