"""Where a server is asked beside the load, and what lets one in there.

Connections are encrypted where the URL's scheme says so, and the server is then trusted as the
file's `tls:` has it, since a password may be told there. Absent: any protocol.
"""

import socket
import ssl
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from benchlab.model.experiment import Tls
from benchlab.model.schemes import ENCRYPTED
from benchlab.systems import reach

TIMEOUT_S = 2.0
"""A system that takes longer to tell its counters is asked anew."""


@dataclass(frozen=True)
class Door:
    """A URL with user and password in it, and whom one trusts behind it."""

    url: str = field(repr=False)
    tls: Tls = field(default_factory=Tls)
    here: Path = field(default_factory=Path)
    """The folder from which a file of certificates is named."""

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return reach.address(self.url)

    @property
    def user(self) -> str:
        """Who asks; empty where the URL does not say."""
        return unquote(reach.split(self.url).username or "")

    @property
    def password(self) -> str:
        """Empty where there is none."""
        return unquote(reach.split(self.url).password or "")

    @property
    def path(self) -> str:
        """What stands behind host and port, without slashes around it."""
        return unquote(reach.split(self.url).path.strip("/"))

    @property
    def encryption(self) -> ssl.SSLContext | None:
        """What encrypts connections; None where they are not."""
        is_encrypted = self.url.partition(":")[0] in ENCRYPTED
        return trust(self.tls, self.here) if is_encrypted else None

    def open(self) -> socket.socket:
        """A connection."""
        there = socket.create_connection(self.address, TIMEOUT_S)
        return there if self.encryption is None else self.encrypted(there)

    def encrypted(self, there: socket.socket) -> socket.socket:
        """The same connection, encrypted from now on."""
        return trust(self.tls, self.here).wrap_socket(there, server_hostname=self.address[0])


class _Named(ssl.SSLContext):
    """Asks for a certificate of another name than that of the host, where one is given."""

    name: str | None = None

    def wrap_socket(self, *args: Any, **keys: Any) -> ssl.SSLSocket:
        return super().wrap_socket(*args, **{**keys, "server_hostname": self._asked(keys)})

    def _asked(self, keys: dict[str, Any]) -> Any:
        return self.name or keys.get("server_hostname")


@cache
def trust(tls: Tls, here: Path) -> ssl.SSLContext:
    """Made once: to load this machine's certificates costs more than a minute of asking.

    Raises OSError where the file of certificates cannot be read.
    """
    made = _Named(ssl.PROTOCOL_TLS_CLIENT)
    made.name = tls.server_name
    if not tls.verify:
        made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    elif tls.ca is not None:
        made.load_verify_locations(here / tls.ca)
        # A certificate that is trusted by itself need not be its own signer.
        made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    else:
        made.load_default_certs()
    return made
