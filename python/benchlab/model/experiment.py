"""The experiment: a question made a design. The parsed and checked form of an experiment file.

Quantities are carried in SI units here (seconds, per second, bytes, shares of one).
"""

from typing import Any, Literal

from pydantic import Field, SkipValidation

from benchlab.model.evidence import Frozen
from benchlab.model.schemes import Speaks
from benchlab.model.tree import Node, Scalar


class Ready(Frozen):
    """How to tell that a started command is ready: the first given is used."""

    port: int | str | None = None
    url: str | None = None
    log: str | None = None
    timeout: float = 30.0


class Command(Frozen):
    """A command line run for its effect, or a statement said to the system."""

    command: str = ""
    sql: str | None = None
    timeout: float = 60.0


class Tls(Frozen):
    """How encrypted connections are checked."""

    verify: bool = True
    """Whether the certificate must be for the server's name and by somebody trusted."""
    ca: str | None = None
    """A file of certificates (PEM) that are trusted, instead of this machine's."""
    server_name: str | None = None
    """The name the certificate must be for, instead of the URL's host."""


class Source(Frozen):
    """What a system is built from: one commit of a git repository, checked out clean."""

    git: str
    """A folder of the repository, or a bundle; relative to the experiment file's folder."""
    revision: str = "HEAD"
    """A branch, a tag or anything else that git knows a commit by."""


class System(Frozen):
    """One system under test."""

    kind: str
    version: str | None = None
    program: str | None = None
    settings: dict[str, Scalar] = {}
    files: dict[str, str] = {}
    environment: dict[str, str] = {}
    at: tuple[str, ...] = ()
    metrics_at: tuple[str, ...] = ()
    """Where exporters tell of the hosts that a system which is already running is on."""
    tls: Tls | None = None
    restart: Command | None = None
    placement: str = "own"
    instances: int | None = None
    """How many like members it is made of."""
    replicas: int | None = None
    """How many members follow each that takes writes."""
    masters: int | None = None
    """How many members share the data between them."""
    ask: Literal["one", "all"] | None = None
    """Which members the driver talks to, where that is not settled by what they are."""
    before: "dict[str, System]" = {}
    """What stands behind it, by names of the file's own."""
    before_session: tuple[Command, ...] = ()
    before_trial: tuple[Command, ...] = ()
    start: str | None = None
    url: str | None = None
    ready: Ready | None = None
    stop: str | None = None
    source: Source | None = None
    build: str | None = None
    """What makes of a clean checkout what is started; run in the checkout, once a commit."""
    needs: tuple[str, ...] = ()
    """Programs the machine must have; where one is missing, cases are skipped, loudly."""
    install: str | None = None
    """How to get what it needs; told by `doctor`, never run."""


class Expect(Frozen):
    """What an answer must be; what is absent is not checked. Texts are templates of values."""

    status: tuple[int, ...] | None = None
    body: str | None = None
    contains: str | None = None
    headers: dict[str, str] = {}
    size: int | dict[str, int] | None = None
    """Bytes of the body, or the least (`low`) and the most (`high`) of them."""
    reply: str | None = None
    rows: str | None = None
    first: str | None = None
    keyed: str | None = None
    """Name of a value with a `key`, which the second column is for the first one of its row."""
    intact: bool = False
    """Of a file: what is read is what was written there, sector by sector."""


class Block(Frozen):
    """What is read or written of a file."""

    bytes: int
    at: str | None = None
    """Its number among blocks of that size, a template; the next of all in turn when absent."""


class Operation(Frozen):
    """One request of a mix: over HTTP where `method` is given, else what is not None."""

    name: str
    method: str | None = None
    path: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: str | None = None
    """The text, or `@` and the name of a file that holds it."""
    body_file: str | None = None
    """The name of a file whose bytes are the body as they are."""
    chunks: int | None = None
    """The body goes out in chunks of so many bytes."""
    sql: str | None = None
    command: tuple[str, ...] | None = None
    """Name and arguments, of Redis and its like."""
    read: Block | None = None
    write: Block | None = None
    sync: Literal["data", "all"] | None = None
    """Of a file: what is waited for, its content or its metadata, too."""
    ldap: dict[str, Any] | None = None
    """`search`, `modify`, `add` or `delete` of a directory, in the Plan's form."""
    expect: Expect = Expect()
    for_each: str | None = None

    @property
    def speaks(self) -> Speaks:
        """The kind of request."""
        if self.command is not None:
            return "command"
        if self.ldap is not None:
            return "ldap"
        if self.method is not None:
            return "http"
        return "file" if self.sql is None else "sql"


class Transaction(Frozen):
    """Operations asked one after another, drawn by weight."""

    name: str
    weight: float = 1.0
    operations: tuple[Operation, ...]


class Workload(Frozen):
    """What is asked: a built-in workload by name, or a mix."""

    name: str | None = None
    data: dict[str, Any] = {}
    into: str | None = None
    """Where its data are put at a system that is already running; made there, and taken away."""
    existing: bool = False
    """Whether it uses what a system that is already running has; that is counted and stays."""
    options: dict[str, Any] = {}
    """As written; the workload itself reads their units."""
    mix: tuple[Transaction, ...] = ()
    values: dict[str, Any] = {}
    """Generators by name, in the Plan's form."""


class Shape(Frozen):
    """One segment of an open load's rate: exactly one of `to`, `hold`, `step`."""

    to: float | None = None
    over: float | None = None
    hold: float | None = None
    step: float | None = None


class Expression(Frozen):
    """A threshold on a metric: `latency_p99 < 50ms`."""

    text: str
    metric: str
    operator: Literal["<", "<=", ">", ">="]
    limit: float


class Load(Frozen):
    """When it is asked."""

    clients: int | None = None
    rate: float | None = None
    find: Literal["highest rate"] | None = None
    """Whether the rate is what is sought: the highest at which `keep` holds."""
    keep: tuple[Expression, ...] = ()
    """What must hold at a rate for it to count as kept."""
    peak: float | None = None
    """The usual peak of the load, that what is found is held against."""
    arrivals: Literal["poisson", "constant"] = "poisson"
    connections: int | None = None
    shape: tuple[Shape, ...] = ()
    duration: float | None = None
    transactions: int | None = None
    per_client: int | None = None
    warmup: float = 1.0
    timeout: float = 5.0
    think: float = 0.0
    connection: Literal["kept", "new"] = "kept"
    pipeline: int = 1
    """How many transactions may be under way on a connection; clients share one in such groups."""
    cookies: Literal["ignore", "keep"] = "ignore"
    """Whether each client keeps the cookies it is given, for as long as the trial lasts."""
    redirects: Literal["leave", "follow"] = "leave"
    """Whether an answer that leads elsewhere is followed, unless its status is expected."""

    @property
    def is_open(self) -> bool:
        """Whether transactions start at a rate rather than when the last one is done."""
        return self.rate is not None or self.find is not None

    def at(self, rate: float, duration_s: float | None) -> "Load":
        """The open load of one step of a search, which `keep` still holds for."""
        changed = {"find": None, "peak": None, "rate": rate, "duration": duration_s}
        return self.model_copy(update=changed)


class Factor(Frozen):
    """What varies: levels by name, each a set of keys it sets."""

    name: str
    levels: dict[str, dict[str, Any]]
    """Level name to {path into the file: value}; in file order."""


SMALLEST_EFFECT = 0.03
"""δ where the file does not say, as a share."""


class Compare(Frozen):
    """The comparison whose decision rule is fixed beforehand."""

    factor: str
    baseline: str
    metrics: tuple[str, ...]
    at: dict[str, str] = {}
    smallest_effect: float = SMALLEST_EFFECT


Order = Literal["resident", "blocks", "sequential"]
"""How the systems of a session take turns; `blocks` starts each afresh for each block."""


class Experiment(Frozen):
    """A whole experiment. Its systems, workload and load are those of its first case."""

    name: str = Field(alias="experiment")
    question: str = ""
    systems: dict[str, System]
    workload: Workload
    load: Load
    factors: tuple[Factor, ...] = ()
    skip: tuple[dict[str, str], ...] = ()
    compare: Compare | None = None
    sessions: int = 3
    """How many; with a `precision`, those of the first stage."""
    precision: float | None = None
    """Half the width, as a share, of the intervals that a second stage of sessions is to give."""
    blocks: int = 2
    order: Order = "resident"
    seed: int = 1
    promises: tuple[Expression, ...] = ()
    full: dict[str, Any] = {}
    abort_when: tuple[Expression, ...] = ()
    allow: dict[str, float] = {}
    """Validity rows that are widened, by name of their check: the new limit in SI units."""
    source: SkipValidation[Node] = Field(default=Node({}), exclude=True, repr=False)
    """The file's own keys and values, with `--set`, `--sessions` and `--full` applied."""
    design: "tuple[Case, ...]" = Field(default=(), exclude=True, repr=False)
    """The cases in file order, after `skip`."""


class Case(Frozen):
    """One combination of levels, with the file's keys resolved for it."""

    name: str
    """The levels in file order: `fetch=each,clients=8`; the experiment's name without factors."""
    levels: dict[str, str]
    system_name: str
    system: System
    workload: Workload
    load: Load
    source: SkipValidation[Node] = Field(default=Node({}), exclude=True, repr=False)
    """The file's own keys and values with the case's levels applied."""
