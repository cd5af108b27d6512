"""A git repository on this machine: which commit is meant, what is not committed, how to check out.

A bundle, which is a repository in one file, serves as well; of it the branches and tags are known.
Absent: any change to the repository, any network, and whatever hooks or templates would run.
"""

import os
import shlex
import subprocess
from difflib import get_close_matches
from pathlib import Path

from benchlab.model.errors import InputError

ASK_S = 60.0
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX")
"""Variables that a hook of git has, and that would lead to its repository instead."""
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "--no-optional-locks")


class Repository:
    """One that is there. Raises InputError, with the key `git`, for a path that is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_bundle = path.is_file()
        if self._is_bundle:
            said = _ask("ls-remote", str(path))
            if said.returncode:
                raise InputError(f"{path} is no bundle of git: {_words(said)}", key="git")
            self.location = path
            listed = (line.split("\t") for line in said.stdout.splitlines())
            self._bundled = {name: commit for commit, name in listed}
            return
        if not path.is_dir():
            raise InputError(f"there is no folder {path}", key="git")
        said = self._ask("rev-parse", "--path-format=absolute", "--git-common-dir")
        if said.returncode:
            raise InputError(f"{path} is in no git repository: {_words(said)}", key="git")
        self.location = Path(said.stdout.strip())

    def commit(self, revision: str) -> str:
        """The id of the commit that a revision stands for; of a bundle's annotated tag its own.

        Raises InputError, with the key `revision` and the nearest branch or tag, for none.
        """
        if self._is_bundle:
            places = (revision, f"refs/heads/{revision}", f"refs/tags/{revision}")
            known = {**self._bundled, **{commit: commit for commit in self._bundled.values()}}
            found = next((known[name] for name in places if name in known), "")
        else:
            found = self._ask("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").stdout
        if found:
            return found.strip()
        near = get_close_matches(revision, self.names(), n=1, cutoff=0.4)
        raise InputError(
            f"{self.path} has no revision {revision!r}; it has {_listed(self.names())}",
            key="revision",
            nearest=near[0] if near else None,
        )

    def names(self) -> list[str]:
        """Its branches and tags."""
        if self._is_bundle:
            return [name.split("/", 2)[2] for name in self._bundled if name.startswith("refs/")]
        form = "--format=%(refname:short)"
        return self._ask("for-each-ref", form, "refs/heads", "refs/tags").stdout.split()

    def uncommitted(self) -> int:
        """Files of the work tree that no commit has as they are; none where there is no tree."""
        if self._is_bundle:
            return 0
        return len(self._ask("status", "--porcelain").stdout.splitlines())

    def check_out(self, commit: str, folder: Path) -> str:
        """The command line that makes a clean checkout of a commit in a folder that is not there.

        Its objects stay where they are, and nothing is written there. Submodules are left out.
        """
        shared = [] if self._is_bundle else ["--shared"]
        clone = [*_git("clone"), "--quiet", "--no-checkout", "--template=", *shared]
        lines = [
            [*clone, "--", str(self.location), str(folder)],
            [*_git("-C", str(folder), "checkout"), "--quiet", "--detach", commit],
        ]
        return shlex.join(["sh", "-c", " && ".join(map(shlex.join, lines))])

    def _ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        return _ask("-C", str(self.path), *words)


def _git(*words: str) -> list[str]:
    unset = [word for name in _ELSEWHERE if name in os.environ for word in ("-u", name)]
    return [*(["env", *unset] if unset else []), "git", *_QUIET, *words]


def _ask(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _git(*words),
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        timeout=ASK_S,
        check=False,
    )


def _words(said: subprocess.CompletedProcess[str]) -> str:
    lines = said.stderr.strip().splitlines() or ["git gives no reason"]
    return lines[0].removeprefix("fatal: ")


def _listed(names: list[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "none yet") + more
