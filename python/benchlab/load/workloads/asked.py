"""What a built-in workload is to whoever makes a Plan of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchlab.model.errors import InputError
from benchlab.model.experiment import Transaction, Workload
from benchlab.model.sections import WorkloadKeys


@dataclass(frozen=True)
class Asked:
    """Values and the transactions that use them."""

    transactions: tuple[Transaction, ...]
    values: dict[str, Any] = field(default_factory=dict)
    """Generators by name, in the Plan's form."""


@dataclass(frozen=True)
class Held:
    """What holds the data: a table of this name, or all keys and names that begin with it."""

    name: str
    columns: str = ""
    """Of a table, as CREATE TABLE has them."""


@dataclass(frozen=True)
class Loading:
    """The data as a load of its own: asked by one client, this many transactions long."""

    asked: Asked
    transactions: int
    held: Held | None = None
    """What must be made before, where that is not part of it."""


@dataclass(frozen=True)
class BuiltIn:
    """A workload that comes with the lab."""

    summary: str
    keys: WorkloadKeys
    schemes: tuple[str, ...]
    """Schemes of the URLs it can be asked of."""
    ask: Callable[[Workload, Sequence[str], Path, str], Asked]
    """What is asked of a system at these URLs, files that are named being in the folder, in the
    case of this name."""
    load: Callable[[Workload, str], Loading | None] = lambda workload, scheme: None
    """How its data come to be, if it has any, in a system of this scheme."""
    find: Callable[[Workload, str], Loading | None] = lambda workload, scheme: None
    """What is answered rightly where its data are there already."""


def table_in(driver: str, into: str | None, table: str) -> str:
    """A table in a schema, in a database, or where there are none by a longer name."""
    if into is None:
        return table
    return {"mysql": f"`{into}`.{table}", "sqlite": f'"{into}_{table}"'}.get(
        driver, f'"{into}".{table}'
    )


def begin_of(into: str | None, key: str) -> str:
    """The beginning of a key, which says whose it is."""
    return key if into is None else f"{into}:{key}"


def body_text(body: str | None, folder: Path, key: str) -> str | None:
    """A body as it stands, or what is in the file that `@FILE` names.

    Raises:
        InputError: when the file cannot be read as text.
    """
    if body is None or not body.startswith("@"):
        return body
    path = Path(readable(body[1:], folder, key))
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        what = f"{path} is not a text in UTF-8; bytes of any kind are sent by body_file"
        raise InputError(what, key=key) from None


def readable(name: str, folder: Path, key: str) -> str:
    """The whole path of a file that is named from the folder.

    Raises:
        InputError: when it cannot be read.
    """
    path = (folder / name).absolute()
    try:
        path.open("rb").close()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}", key=key) from None
    return str(path)
