"""Whose turn it is in a session: searches first, then blocks in random order, then closing in.

Each turn is handed out once the one before was measured, which it may hang on. Absent: measuring.
"""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence, Set

from benchlab.lab.seeking import Seeker, at_step
from benchlab.lab.trial import Turn
from benchlab.model.experiment import Case, Experiment, Order
from benchlab.model.records import Step
from benchlab.systems import instance_key


def turns(
    seed: int, session: int, blocks: int, cases: Sequence[Case], order: Order
) -> list[tuple[int, Case]]:
    """The turns of a session's blocks, block and case, as they are drawn from its seed.

    A block has each case once. Where one system is up at a time, the cases that share a start come
    one after the other; systems in turn have all their blocks before the next one has its first.
    """
    drawn = []
    for block in range(blocks):
        random_of = random.Random(f"{seed}/{session}/{block}")
        taken = list(cases)
        random_of.shuffle(taken)
        if order != "resident":
            starts = list(dict.fromkeys(instance_key(case) for case in taken))
            taken.sort(key=lambda case: starts.index(instance_key(case)))
        drawn += [(block, case) for case in taken]
    if order == "sequential":
        places = list(dict.fromkeys(instance_key(case) for case in cases))
        drawn.sort(key=lambda turn: places.index(instance_key(turn[1])))
    return drawn


def session_turns(
    experiment: Experiment,
    session: int,
    cases: Sequence[Case],
    seekers: Mapping[str, Seeker],
    out: Set[str],
    order: Order,
) -> Iterator[Turn]:
    """The turns of a session.

    Args:
        experiment: For its seed and number of blocks.
        session: From 0.
        cases: Those that are still measured.
        seekers: The searches of those whose rate is sought, by name.
        out: Names of cases that have no more turns in this session; it grows meanwhile.
        order: How the session's systems take turns.
    """
    sought = [seekers[case.name] for case in cases if case.load.find]
    numbers = itertools.count(1)
    for seeker in sought:
        seeker.begin_session()
        while seeker.case.name not in out and (step := seeker.searching()) is not None:
            yield Turn(at_step(seeker.case, step.rate), session, 0, next(numbers), 0, step)
    asked = [case for case in cases if not case.load.find]
    steps: dict[int, Step] = {}
    for seeker in sought:
        for rung in seeker.rungs(session):
            asked.append(at_step(seeker.case, rung.rate))
            steps[id(asked[-1])] = rung
    drawn = turns(experiment.seed, session, experiment.blocks, asked, order)
    for block, case in drawn:
        of = 0 if sought else len(drawn)
        yield Turn(case, session, block, next(numbers), of, steps.get(id(case)))
    for seeker, step in _closing(experiment, session, sought, out, order):
        for block in range(experiment.blocks):
            made = at_step(seeker.case, step.rate)
            yield Turn(made, session, block, next(numbers), 0, step)


def _closing(
    experiment: Experiment,
    session: int,
    sought: Sequence[Seeker],
    out: Set[str],
    order: Order,
) -> Iterator[tuple[Seeker, Step]]:
    """The steps that close in on each search's own capacity: one of each in turns.

    Where one system is up at a time, each is closed in on before the next one is started.
    """
    left = list(sought)
    random_of = random.Random(f"{experiment.seed}/{session}/closing")
    random_of.shuffle(left)
    while left:
        if order == "resident":
            random_of.shuffle(left)
        for seeker in left if order == "resident" else left[:1]:
            if seeker.case.name in out or (step := seeker.closing()) is None:
                left = [other for other in left if other is not seeker]
                continue
            yield seeker, step
