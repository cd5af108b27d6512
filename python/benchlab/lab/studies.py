"""Where experiment files are found: by path, or a study by its name."""

import difflib
import re
from pathlib import Path

import benchlab
from benchlab.model.errors import InputError

FILE = "experiment.yaml"


def studies() -> dict[str, Path]:
    """Every study that ships with Benchlab, by name: its experiment file."""
    package = Path(benchlab.__file__).parent
    found: dict[str, Path] = {}
    for folder in (package / "studies", package.parent.parent / "studies"):
        for file in sorted(folder.glob(f"*/{FILE}")):
            found.setdefault(file.parent.name, file)
    return found


def questions() -> dict[str, str]:
    """What each study asks, by name."""
    found = {}
    for name, file in studies().items():
        asked = re.search(r"^question:[ \t]*(.+)$", read(file), flags=re.MULTILINE)
        found[name] = asked[1].strip("'\"") if asked else ""
    return found


def find(name: str) -> Path:
    """The experiment file meant by a path or a study's name.

    Raises `InputError` that names the nearest study when there is neither.
    """
    path = Path(name)
    if path.is_dir() and (path / FILE).is_file():
        return path / FILE
    if path.is_file():
        return path
    known = studies()
    if name in known:
        return known[name]
    nearest = difflib.get_close_matches(name, known, n=1)
    what = f"no such file or study: {name}; studies: {', '.join(known) or 'none'}"
    raise InputError(what, nearest=nearest[0] if nearest else None)


def read(file: Path) -> str:
    """The text of an experiment file. Raises `InputError` where it is no UTF-8 text."""
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text (byte {error.start})", file=str(file)) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(file)) from error
