"""`benchlab try`: the first minute, with nothing to write."""

import os
import re
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

import typer

from benchlab.cli.options import Json
from benchlab.model.errors import InputError
from benchlab.model.schemes import ENCRYPTED, SCHEMES
from benchlab.model.secrets import is_mention

NAMED = re.compile(r"^([A-Za-z][\w.-]*)=([a-z][a-z0-9+.-]*:.*)$", re.DOTALL)


def name_and_url(argument: str) -> tuple[str, str]:
    """`NAME=URL`, or a URL that is called by its host and port."""
    named = NAMED.match(argument)
    name, url = (named[1], named[2]) if named else ("", argument)
    if ":" not in url:
        raise InputError(f"{argument} is no URL; write e.g. http://127.0.0.1:8080/")
    place = urlsplit(url)
    called = place.netloc.rpartition("@")[2] or place.path
    return name or re.sub(r"[^\w.-]+", "-", called).strip("-") or "system", url


def systems_of(urls: list[str], insecure: bool = False) -> dict[str, dict[str, Any]]:
    """The systems of the experiment, each under a name of its own.

    `insecure` takes any certificate of the encrypted ones.
    """
    found: dict[str, dict[str, Any]] = {}
    for argument in urls:
        name, url = name_and_url(argument)
        if NAMED.match(argument) and name in found:
            raise InputError(f"two systems are called {name}")
        number = 1
        unique = name
        while unique in found:
            number += 1
            unique = f"{name}-{number}"
        found[unique] = {"at": hide_password(url, len(found))}
        if insecure and url.partition(":")[0] in ENCRYPTED:
            found[unique]["tls"] = {"verify": False}
    if insecure and not any("tls" in system for system in found.values()):
        listed = ", ".join(f"{scheme}:" for scheme in ENCRYPTED)
        raise InputError(f"--insecure takes any certificate, and no URL here is of {listed}")
    return found


def hide_password(url: str, number: int) -> str:
    """The URL with a variable of the environment in place of its password.

    What is kept of a run has no password in it, and who resumes the run must set the variable.
    """
    password = urlsplit(url).password
    if not password or is_mention(unquote(password)):
        return url
    variable = f"TRY_PASSWORD{f'_{number + 1}' if number else ''}"
    os.environ[variable] = unquote(password)
    return url.replace(f":{password}@", f":${{env:{variable}}}@", 1)


def body_text(body: str) -> str:
    """The body, or the content of the file that `@FILE` names."""
    if not body.startswith("@"):
        return body
    try:
        return Path(body[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--body {body}: {error}") from error


def workload_of(systems: dict[str, dict[str, Any]], options: dict[str, Any]) -> dict[str, Any]:
    """A page of web servers; of others the least that can be asked without any data."""
    schemes = [SCHEMES.get(system["at"].partition(":")[0]) for system in systems.values()]
    minute = schemes[0].minute if schemes[0] is not None else None
    if minute is None:
        return {"name": "page", "options": options}
    if options:
        raise InputError(f"{', '.join(sorted(options))}: belongs to HTTP")
    return {"mix": dict(minute)}


def experiment_of(
    systems: dict[str, dict[str, Any]],
    clients: int | None,
    rate: str | None,
    duration: str,
    options: dict[str, Any],
    sessions: int | None,
) -> dict[str, Any]:
    """The experiment that a `try` stands for, as it would stand in a file."""
    if clients is not None and rate is not None:
        raise InputError("give --clients or --rate, not both: a load is closed or open")
    names = list(systems)
    load: dict[str, Any] = {"duration": duration, "warmup": "1s"}
    load |= {"rate": rate} if rate else {"clients": 16 if clients is None else clients}
    experiment: dict[str, Any] = {
        "experiment": "try",
        "question": f"How fast does {names[0]} answer?"
        if len(names) == 1
        else f"Which is faster: {', '.join(names)}?",
        "systems": systems,
        "workload": workload_of(systems, options),
        "load": load,
        "blocks": 1,
    }
    if len(names) > 1:
        metric = "latency_p99" if rate else "throughput"
        experiment["compare"] = {"factor": "system", "baseline": names[0], "metrics": [metric]}
    if sessions is not None:
        experiment["sessions"] = sessions
    return experiment


def first_minute(
    urls: Annotated[list[str], typer.Argument(metavar="[NAME=]URL...", help="What to ask.")],
    clients: Annotated[
        int | None, typer.Option("-c", "--clients", help="Closed load: clients at once.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option("--rate", metavar="R", help="Open load: e.g. 500/s.")
    ] = None,
    duration: Annotated[
        str, typer.Option("-d", "--duration", metavar="TIME", help="Measured stretch a trial.")
    ] = "3s",
    headers: Annotated[
        list[str] | None, typer.Option("-H", "--header", help="`Name: value`, sent each time.")
    ] = None,
    method: Annotated[str | None, typer.Option("-X", "--method", help="GET unless given.")] = None,
    body: Annotated[
        str | None, typer.Option("--body", metavar="TEXT|@FILE", help="Sent with each request.")
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="https: and its like: take any certificate.")
    ] = False,
    sessions: Annotated[
        int | None, typer.Option("--sessions", metavar="N", help="Replicates.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Write the experiment file.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The run's folder itself.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    as_json: Json = False,
) -> None:
    """Ask one URL, or compare several, with nothing to write first."""
    from benchlab.cli.running import run_opened
    from benchlab.lab.opening import open_mapping

    options: dict[str, Any] = {}
    if headers:
        options["headers"] = dict(split_header(header) for header in headers)
    if method or body is not None:
        options["method"] = method or "POST"
    if body is not None:
        options["body"] = body_text(body)
    systems = systems_of(urls, insecure)
    opened = open_mapping(experiment_of(systems, clients, rate, duration, options, sessions))
    if save is not None:
        save.write_text(opened.text, encoding="utf-8")
        if not (quiet or as_json):
            print(f"experiment file: {save}")
    run_opened(opened, out=out, quiet=quiet, as_json=as_json)


def split_header(header: str) -> tuple[str, str]:
    """`Name: value` as a pair."""
    name, colon, value = header.partition(":")
    if not colon or not name.strip():
        raise InputError(f"--header takes `Name: value`: {header}")
    return name.strip(), value.strip()
