"""The cases of an experiment, choosing some of them by name, and where a case's keys stand."""

import contextlib
from collections.abc import Iterator, Sequence

from benchlab.model.errors import InputError
from benchlab.model.experiment import Case, Experiment
from benchlab.model.tree import locate, nearest


def cases(experiment: Experiment) -> tuple[Case, ...]:
    """The cases in file order, after `skip`, as `reading` made them."""
    return experiment.design


def select(found: Sequence[Case], only: Sequence[str]) -> tuple[Case, ...]:
    """The cases that any of `only` names: a whole name, or some of its levels.

    `fetch=each` and `each` both choose every case of that level; `clients=8,fetch=each` those of
    both.

    Raises:
        InputError: when one of `only` chooses nothing.
    """
    if not only:
        return tuple(found)
    chosen = set()
    for text in only:
        names = [case.name for case in found if _matches(case, text)]
        if not names:
            parts = [case.name for case in found]
            parts += [f"{f}={level}" for case in found for f, level in case.levels.items()]
            parts += [level for case in found for level in case.levels.values()]
            raise InputError(
                "chooses no case",
                file=f"--only {text}",
                nearest=nearest(text, dict.fromkeys(parts)),
            )
        chosen.update(names)
    return tuple(case for case in found if case.name in chosen)


@contextlib.contextmanager
def placing(case: Case) -> Iterator[None]:
    """Adds file and line to a complaint about a key of a case's file."""
    try:
        yield
    except InputError as error:
        if error.file is not None or error.key is None:
            raise
        place = locate(case.source, error.key)
        raise error.at(place.file, place.line, error.key) from error


def _matches(case: Case, text: str) -> bool:
    if text == case.name:
        return True
    parts = [part.strip() for part in text.split(",")]
    named = {f"{factor}={level}" for factor, level in case.levels.items()}
    return all(part in named or part in case.levels.values() for part in parts)
