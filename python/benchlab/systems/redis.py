"""Redis, alone, by RESP; `settings` are its own configuration directives.

Nothing is written to disk unless the settings say so: `save` and `appendonly` are off by default.
Absent: clusters and replicas.
"""

import socket

from benchlab.model.secrets import MENTION
from benchlab.systems.reach import ANSWER_S, NotReadyError
from benchlab.systems.server import Bed, Recipe, ServerKind


def recipe(bed: Bed) -> Recipe:
    """The server's configuration is a file of its folder, since it holds the password."""
    directives = {"save": "", "appendonly": "no", **bed.settings}
    fixed = {
        "bind": "127.0.0.1",
        "port": str(bed.port),
        "dir": f"{bed.folder}/data",
        "daemonize": "no",
        "requirepass": bed.password,
    }
    empty = '""'
    lines = [f"{name} {value or empty}\n" for name, value in {**directives, **fixed}.items()]

    def say(command: str) -> str:
        try:
            with socket.create_connection(("127.0.0.1", bed.port), ANSWER_S) as there:
                there.sendall(f"AUTH {bed.password}\r\n{command}\r\nQUIT\r\n".encode())
                with there.makefile("rb") as answers:
                    return answers.read().decode("utf-8", "replace")
        except OSError as error:
            raise NotReadyError(f"nobody answers ({error.strerror or error})") from error

    def answers() -> None:
        said = say("PING")
        if "+PONG" not in said:
            raise NotReadyError(f"it answers {said.splitlines()[-2:]}")

    return Recipe(
        start=["redis-server", f"{bed.folder}/redis.conf"],
        files={"redis.conf": "".join(lines), "data/.keep": ""},
        answers=answers,
        data="data",
        persist=lambda: answered(say("SAVE")),
    )


def answered(said: str) -> None:
    """Raises NotReadyError where a command was refused."""
    if "-ERR" in said:
        raise NotReadyError(said)


KIND = ServerKind(
    summary="Redis, one server",
    needs=("redis-server",),
    url=f"redis://:{MENTION}@127.0.0.1:${{port}}",
    recipe=recipe,
)
