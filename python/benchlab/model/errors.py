"""What can go wrong, as one line that says what to do, and the exit code it leads to."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of the command; the first that applies, in the order of `ORDER`."""

    DONE = 0
    BROKEN_PROMISE = 1
    BAD_INPUT = 2
    CANNOT_TELL = 3
    NOTHING_MEASURED = 4
    INTERRUPTED = 130


ORDER = (
    Exit.INTERRUPTED,
    Exit.BAD_INPUT,
    Exit.NOTHING_MEASURED,
    Exit.BROKEN_PROMISE,
    Exit.CANNOT_TELL,
    Exit.DONE,
)


class BenchlabError(Exception):
    """An error whose message is fit for the user as it is."""

    exit = Exit.NOTHING_MEASURED


class InputError(BenchlabError):
    """The user asked wrongly; names the place and the nearest valid choice."""

    exit = Exit.BAD_INPUT

    def __init__(
        self,
        what: str,
        *,
        file: str | None = None,
        line: int | None = None,
        key: str | None = None,
        nearest: str | None = None,
    ) -> None:
        place = ":".join(str(part) for part in (file, line) if part is not None)
        hint = f" (did you mean {nearest}?)" if nearest else ""
        super().__init__(": ".join(part for part in (place, key, what) if part) + hint)
        self.what, self.file, self.line, self.key, self.nearest = what, file, line, key, nearest

    def at(self, file: str | None, line: int | None, key: str | None) -> "InputError":
        """The same complaint about this place."""
        return InputError(self.what, file=file, line=line, key=key, nearest=self.nearest)


class HostError(BenchlabError):
    """The world is not as needed; the message says what to do about it."""


class EngineBug(BenchlabError):  # noqa: N818 - what went wrong is a bug
    """The engine failed in a way it should not; the message names the Plan that shows it."""
