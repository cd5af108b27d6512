"""What kinds of system lack is told with its packages, and installed on request."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from benchlab.host import programs
from benchlab.model.errors import HostError, InputError
from benchlab.systems import KINDS, redis, software
from benchlab.systems.members import ServerKind

Apt = Callable[[str], None]


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Apt:
    """A kind whose server and tool are not here, and a package manager that does as it is told."""
    kind = ServerKind("A fake", ("fake-server", "fake-tool"), "redis://x:${port}", redis.recipe)
    monkeypatch.setitem(KINDS, "fake", kind)
    for need in kind.needs:
        monkeypatch.setitem(programs.PACKAGES, need, "fake-package")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(software, "_as_root", list[str])
    programs.look.cache_clear()

    def script(text: str) -> None:
        file = tmp_path / "apt-get"
        file.write_text(f"#!/bin/sh\ncd {tmp_path}\n{text}\n")
        file.chmod(0o755)

    return script


def test_what_is_missing_is_installed_and_looked_at_again(apt: Apt, tmp_path: Path) -> None:
    found = software.look("fake")
    assert found.missing == ("fake-server", "fake-tool")
    assert found.packages == ("fake-package",)
    assert found.why == "needs fake-server: apt-get install fake-package"
    made = 'for each in fake-server fake-tool; do printf "#!/bin/sh\\necho 4.5.6" > $each; done'
    apt(f'echo "$DEBIAN_FRONTEND $@" > asked; {made}; chmod 755 fake-*; ls /usr/sbin > there')
    software.install([found])
    asked = (tmp_path / "asked").read_text()
    assert asked == "noninteractive install --yes --no-install-recommends fake-package\n"
    # No package may start its services meanwhile.
    if os.geteuid() == 0:
        assert "policy-rc.d" in (tmp_path / "there").read_text().split()
    after = software.look("fake")
    assert (after.why, after.version, after.packages) == (None, "4.5.6", ())
    programs.look.cache_clear()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'E: Unable to locate package fake-package' >&2; exit 100", "try apt-get update"),
        ("echo 'E: no space left' >&2; exit 100", "failed: E: no space left"),
        ("exit 0", "fake still needs fake-server"),
    ],
)
def test_what_cannot_be_installed_says_why(apt: Apt, script: str, message: str) -> None:
    apt(script)
    with pytest.raises(HostError) as failed:
        software.install([software.look("fake")])
    assert message in str(failed.value)


def test_without_root_the_command_is_told(apt: Apt, monkeypatch: pytest.MonkeyPatch) -> None:
    apt("touch ran")
    monkeypatch.setattr(software, "_as_root", lambda: None)
    with pytest.raises(HostError) as refused:
        software.install([software.look("fake")])
    line = "sudo apt-get install --yes --no-install-recommends fake-package"
    assert str(refused.value) == f"installing needs root: {line}"


def test_a_package_nobody_knows_is_told(apt: Apt, monkeypatch: pytest.MonkeyPatch) -> None:
    for need in ("fake-server", "fake-tool"):
        monkeypatch.delitem(programs.PACKAGES, need)
    programs.look.cache_clear()
    with pytest.raises(HostError, match="install fake-server and put it on the PATH"):
        software.install([software.look("fake")])


def test_every_kind_says_what_it_is() -> None:
    for one in software.everything():
        assert one.what and one.kind in KINDS
    with pytest.raises(InputError, match="did you mean postgresql"):
        software.look("postgres")


def test_every_program_of_a_shipped_kind_has_its_package() -> None:
    for name, kind in KINDS.items():
        if isinstance(kind, ServerKind):
            assert not [need for need in kind.needs if need not in programs.PACKAGES], name
