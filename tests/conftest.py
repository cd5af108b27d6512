"""What all tests share: real servers, skipped loudly for a user and required in CI."""

from collections.abc import Callable

import pytest

from benchlab.host import programs


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
