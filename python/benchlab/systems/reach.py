"""Whether somebody answers at a URL, as a client would see it.

Absent: load; one request at a time is asked here, to tell whether a system is up.
"""

import http.client
import os
import ssl
import subprocess
from collections.abc import Mapping, Sequence
from urllib.parse import SplitResult, urlsplit

from benchlab.host import ports
from benchlab.model.errors import InputError
from benchlab.model.schemes import SCHEMES

ANSWER_S = 2.0


def _port(scheme: str) -> int | None:
    """The port of a URL that names none."""
    if scheme == "https":
        return 443
    return SCHEMES[scheme].port if scheme in SCHEMES else None


class NotReadyError(Exception):
    """Nobody answers rightly yet; the message says how far it came."""


class OtherProtocolError(NotReadyError):
    """Somebody answers, but something else than what was asked for."""


class RefusedError(NotReadyError):
    """It is up and says that it will not do as it was told; waiting does not help."""


def split(url: str) -> SplitResult:
    """Takes a URL apart. Raises InputError when host or port cannot be told from it."""
    try:
        parts = urlsplit(url)
        port = parts.port or _port(parts.scheme)
    except ValueError as error:
        raise InputError(f"`{url}` is not a URL: {error}", key="url") from error
    if not parts.hostname or port is None:
        raise InputError(f"`{url}` names no host and port", key="url")
    return parts


def address(url: str) -> tuple[str, int]:
    """Host and port of a URL."""
    parts = split(url)
    return parts.hostname or "", parts.port or _port(parts.scheme) or 0


def accepts(host: str, port: int) -> None:
    """Raises NotReadyError unless somebody accepts a connection there."""
    if not ports.accepts(host, port, ANSWER_S):
        raise NotReadyError(f"nobody accepts connections at {host}:{port}")


def client_says(argv: Sequence[str], secret: Mapping[str, str], text: str = "") -> str:
    """What a client program prints; `secret` is added to its environment, `text` is its input.

    Raises NotReadyError, with what it complains of, where it fails or takes too long.
    """
    try:
        done = subprocess.run(
            argv,
            input=text,
            env={**os.environ, **secret},
            capture_output=True,
            text=True,
            timeout=10 * ANSWER_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NotReadyError("it does not answer") from error
    if done.returncode:
        raise NotReadyError(done.stderr.strip())
    return done.stdout.strip()


def answers(url: str, below: int = 500) -> None:
    """Raises NotReadyError unless a GET is answered in HTTP with a status below the given one.

    A URL of another scheme need only accept connections.
    """
    parts = split(url)
    host, port = address(url)
    if not parts.scheme.startswith("http"):
        accepts(host, port)
        return
    if parts.scheme == "https":
        # Whether to trust the certificate is the driver's question; here, only who answers.
        context = ssl._create_unverified_context()
        client: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, port, timeout=ANSWER_S, context=context
        )
    else:
        client = http.client.HTTPConnection(host, port, timeout=ANSWER_S)
    try:
        client.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        status = client.getresponse().status
    except http.client.RemoteDisconnected as error:
        raise NotReadyError(f"{url} closes the connection without an answer") from error
    except http.client.HTTPException as error:
        raise OtherProtocolError(f"{url} answers, but not in HTTP ({error!r:.80})") from error
    except TimeoutError as error:
        raise NotReadyError(
            f"{url} takes connections but does not answer in {ANSWER_S:g} s"
        ) from error
    except OSError as error:
        raise NotReadyError(f"nobody answers at {url} ({error.strerror or error})") from error
    finally:
        client.close()
    if status >= below:
        raise NotReadyError(f"{url} answers with status {status}")
