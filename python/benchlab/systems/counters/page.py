"""Servers that tell their counters on a page over HTTP.

Absent: what the page says; each server's module knows that.
"""

import http.client
from collections.abc import Callable, Mapping

from benchlab.systems.door import TIMEOUT_S, Door


class Page:
    """Asks for a page again and again over one connection."""

    def __init__(
        self, door: Door, path: str, numbers: Callable[[str], Mapping[str, float]]
    ) -> None:
        self._path, self._numbers = path, numbers
        host, port = door.address
        encryption = door.encryption
        self._client = (
            http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=encryption)
            if encryption is not None
            else http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
        )

    def read(self) -> Mapping[str, float]:
        """The numbers of the page. Raises ConnectionError for another status than 200."""
        self._client.request("GET", self._path)
        answer = self._client.getresponse()
        text = answer.read().decode("utf-8", "replace")
        if answer.status != 200:
            raise ConnectionError(f"{self._path} is answered with status {answer.status}")
        return self._numbers(text)

    def close(self) -> None:
        """Gives the connection back."""
        self._client.close()
