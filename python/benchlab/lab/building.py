"""Systems that are built from source: which commits are meant, each checked out and built once.

All of it happens before the first session, so that no build runs beside a trial, and in the run's
temporary folder, so that no former build is mistaken for one of the commit. Absent: git itself
(`host.git`), and starting what was built.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchlab.host import programs
from benchlab.host.git import Repository
from benchlab.host.processes import Leash
from benchlab.lab import events
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import placing
from benchlab.model.errors import HostError, InputError
from benchlab.model.experiment import Case, System
from benchlab.model.records import SHORT, SourceRecord
from benchlab.model.tree import join
from benchlab.systems import Place
from benchlab.systems.command import fill, run_command

CHECKOUT_S = 600.0
BUILD_S = 3600.0


@dataclass(frozen=True)
class Sources:
    """What the cases of a run are built from."""

    records: tuple[SourceRecord, ...] = ()
    repositories: Mapping[str, Repository] = field(default_factory=dict)
    """By what the file calls them."""

    def notes(self) -> list[str]:
        """What a reader of the result should know of them."""
        said = []
        for git, count in sorted({(r.git, r.uncommitted) for r in self.records if r.uncommitted}):
            files = "1 file is not committed as it stands"
            if count > 1:
                files = f"{count} files are not committed as they stand"
            said.append(f"{git}: {files}, and not measured")
        seen: dict[tuple[str, str, str | None], str] = {}
        for record in self.records:
            first = seen.setdefault((record.system, record.commit, record.build), record.revision)
            if first != record.revision:
                said.append(
                    f"{record.system}: {first} and {record.revision} are the same commit "
                    f"({record.commit[:SHORT]}): what differs between them is noise"
                )
        return said


def find(cases: Iterable[Case], here: Path, settled: Sequence[SourceRecord] = ()) -> Sources:
    """The commits that the cases' revisions stand for.

    Args:
        cases: Cases of one experiment.
        here: The experiment file's folder.
        settled: Of a run that is resumed: it goes on with the commits it was begun with.

    Raises:
        InputError: naming file, line and key, where there is no such repository or revision.
    """
    former = {_key(record): record.commit for record in settled}
    records: dict[tuple[str, str, str, str | None], SourceRecord] = {}
    repositories: dict[str, Repository] = {}
    # A case that cannot be built here is skipped, and told with what is missing.
    for case in cases if programs.look("git").is_there else ():
        for key, record in _wanted(case):
            if _key(record) in records:
                continue
            with placing(case):
                try:
                    if record.git not in repositories:
                        path = (here / Path(record.git).expanduser()).resolve()
                        repositories[record.git] = Repository(path)
                    repository = repositories[record.git]
                    commit = repository.commit(former.get(_key(record), record.revision))
                except InputError as error:
                    raise error.at(None, None, f"{key}.source.{error.key}") from None
            changes = {"commit": commit, "uncommitted": repository.uncommitted()}
            records[_key(record)] = record.model_copy(update=changes)
    return Sources(tuple(records.values()), repositories)


class Builder:
    """The builds of one run."""

    def __init__(
        self,
        leash: Leash,
        folder: Path,
        here: Path,
        stop: StopToken,
        emit: Callable[[events.Event], None],
    ) -> None:
        self._place = Place(leash, folder, here=here, pause=stop.pause)
        self._emit = emit
        self._made: dict[tuple[Path, str, str | None], Path] = {}
        self._of: dict[tuple[str, str, str | None], Path] = {}

    def folder_of(self, system: System) -> Path | None:
        """Where a system's checkout is; None for one that is not built from source."""
        source = system.source
        return self._of[source.git, source.revision, system.build] if source else None

    def build(self, sources: Sources) -> None:
        """Checks out and builds what was not yet, each commit once.

        Raises HostError with the last lines of a build that fails, StoppedError where the lab is
        asked to stop meanwhile.
        """
        for record in sources.records:
            repository = sources.repositories[record.git]
            made = (repository.location, record.commit, record.build)
            if made not in self._made:
                self._made[made] = self._build(record, repository)
            self._of[record.git, record.revision, record.build] = self._made[made]

    def _build(self, record: SourceRecord, repository: Repository) -> Path:
        number = len(self._made)
        parent = self._place.folder
        folder, log = parent / f"source-{number}", parent / f"build-{number}.log"
        began = time.monotonic()
        self._emit(events.BuildStarted(record.system, record.revision, record.commit))
        names = {"source": str(folder), "here": str(self._place.here.absolute())}
        try:
            line = repository.check_out(record.commit, folder)
            run_command(self._place, line, CHECKOUT_S, parent, log)
            if record.build is not None:
                run_command(self._place, fill(record.build, names), BUILD_S, folder, log)
        except HostError as error:
            where = f"{record.revision} ({record.commit[:SHORT]})"
            raise HostError(f"{record.system}: {where} cannot be built: {error}") from error
        seconds = time.monotonic() - began
        self._emit(events.Built(record.system, record.revision, record.commit, seconds))
        return folder


def _wanted(case: Case) -> Iterator[tuple[str, SourceRecord]]:
    """What a case's system and those behind it are built from, each with its key in the file."""
    name = case.system_name
    waiting = [(name, join("systems", name), case.system)]
    while waiting:
        name, key, system = waiting.pop(0)
        if (source := system.source) is not None:
            yield (
                key,
                SourceRecord(
                    system=name,
                    git=source.git,
                    revision=source.revision,
                    commit="",
                    build=system.build,
                ),
            )
        for inner, one in system.before.items():
            waiting.append((f"{name}.{inner}", f"{key}.before.{join('', inner)}", one))


def _key(record: SourceRecord) -> tuple[str, str, str, str | None]:
    return record.system, record.git, record.revision, record.build
