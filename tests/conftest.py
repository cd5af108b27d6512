"""What all tests share: real servers, skipped loudly for a user and required in CI."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchlab.host import programs
from benchlab.model.records import Calibration


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--servers=required` makes a missing server a failure."""
    parser.addoption(
        "--servers",
        choices=("optional", "required"),
        default="optional",
        help="whether a test fails or is skipped where a real server is not installed",
    )


@pytest.fixture(scope="session")
def program(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """A function from a program's name to its path; skips or fails the test without it."""

    def find(name: str) -> str:
        path = programs.look(name).path
        if path:
            return path
        message = f"{name} is not installed: run `make servers`"
        if request.config.getoption("--servers") == "required":
            pytest.fail(message)
        pytest.skip(message)

    return find


@pytest.fixture
def noise() -> Calibration:
    """What is known of some machine on which two equal systems differ by 2 % a session."""
    return Calibration(
        run="abc",
        fingerprint="f",
        created_utc="2026-01-01T00:00:00Z",
        sessions=20,
        session_s=8.0,
        spread={"throughput": 0.02},
        called_different=1,
        comparisons=3,
    )


@pytest.fixture
def small_disk() -> Iterator[Callable[[Path, str], None]]:
    """Mounts a disk of so many bytes at a folder; skips the test where that is not allowed."""
    mounted: list[Path] = []

    def mount(folder: Path, size: str) -> None:
        if os.geteuid() != 0:
            pytest.skip("mounting a small disk takes root")
        options = f"size={size},mode=755"
        argv = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        if subprocess.run(argv, capture_output=True, check=False).returncode:
            pytest.skip("mounting is not allowed here")
        mounted.append(folder)

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture(scope="session")
def certify(program: Callable[[str], str]) -> Callable[[Path, str], Path]:
    """Makes `key.pem` and `cert.pem` in a folder, for `DNS:a name` or `IP:an address`."""

    def make(folder: Path, name: str) -> Path:
        subject = ("-subj", "/CN=shop.example", "-addext", f"subjectAltName={name}")
        made = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject)
        files = ("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"))
        subprocess.run([program("openssl"), *made, *files], check=True, capture_output=True)
        return folder / "cert.pem"

    return make
