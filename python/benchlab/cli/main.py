"""The entry point: takes Ctrl-C before anything else, then brings in what the command needs.

It stands on the standard library alone, so that it is there at once. Absent: the subcommands.
"""

import sys

from benchlab.cli import interrupting


def outcome(arguments: list[str] | tuple[str, ...]) -> int:
    """Run the command line and return its exit code."""
    from benchlab.cli import commands

    return commands.outcome(arguments)


def main() -> None:
    """The console script."""
    interrupting.take()
    code = outcome(sys.argv[1:])
    interrupting.leave()
    sys.exit(code)
