"""What a directory is asked, with the names that a URL leaves out.

A URL's path is the base of all names of a mix, as its database is that of all tables: at
`ldap://host/dc=lab` the name `uid=7` is `uid=7,dc=lab`. Without a path names are taken as they are.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit


def below(request: Mapping[str, Any], url: str) -> dict[str, Any]:
    """The Plan's request, its names below the URL's base."""
    base = unquote(urlsplit(url).path).strip("/")
    ((kind, fields),) = request.items()
    name = "base" if kind == "search" else "dn"
    parts = (fields.get(name, ""), base)
    return {kind: {**_plain(fields), name: ",".join(part for part in parts if part)}}


def _plain(value: Any) -> Any:
    """With lists for tuples, as a Plan has them."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
