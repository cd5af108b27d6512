"""What the file has done beside the load: commands and statements before sessions and trials.

Absent: when; the session and the trial say so.
"""

from collections.abc import Sequence

from benchlab.lab.setting import Setting
from benchlab.load.drivers import let_in
from benchlab.model.errors import InputError
from benchlab.model.experiment import Case, Command, Tls
from benchlab.model.schemes import ASKED_BY, SCHEMES
from benchlab.model.secrets import MENTION, PASSWORD
from benchlab.systems import Instance
from benchlab.systems.door import Door
from benchlab.systems.statements import say


def check(case: Case, urls: Sequence[str]) -> None:
    """Raises InputError where a statement is for a system that takes none."""
    scheme = urls[0].partition(":")[0]
    for when in ("before_session", "before_trial"):
        commands: tuple[Command, ...] = getattr(case.system, when)
        if any(one.sql is not None for one in commands) and SCHEMES[scheme].speaks != "sql":
            what = f"{scheme}: takes no SQL, but {ASKED_BY[SCHEMES[scheme].speaks]}; "
            raise InputError(what + "write {command: …}", key=f"systems.{case.system_name}.{when}")


def run(case: Case, instance: Instance, command: Command, setting: Setting) -> None:
    """Has it done. Raises HostError where it fails, StoppedError where the lab is asked to stop.

    Of several URLs the first is asked, which is the primary's where there is one.
    """
    if command.sql is None:
        instance.run(command)
        return
    secret = instance.secrets.get(PASSWORD, "")
    urls = let_in(case) or [url.replace(MENTION, secret) for url in instance.urls]
    door = Door(urls[0], case.system.tls or Tls(), setting.here)
    say(door, command.sql, command.timeout, setting.stop.pause)
