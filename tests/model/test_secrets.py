"""Passwords stay out of what is kept."""

from typing import Any

import pytest

from benchlab.model import secrets
from benchlab.model.errors import InputError
from benchlab.model.tree import from_plain


@pytest.mark.parametrize(
    "value",
    [
        {"url": "http://user:hunter2@host/"},
        {"environment": {"DB_PASSWORD": "hunter2"}},
        {"settings": {"requirepass": "hunter2"}},
        {"list": ["postgresql://u:x${env:A}@h/"]},
        {"password": 1234},
    ],
)
def test_a_literal_password_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"\$\{env:NAME\}"):
        secrets.refuse(from_plain(value))


@pytest.mark.parametrize(
    "value",
    [
        {"url": "http://user:${env:SECRET}@host/", "other": "http://user@host/a:b@c"},
        {"environment": {"DB_PASSWORD": "${env:SECRET}"}},
        {"settings": {"password_encryption": "scram-sha-256", "validate_password": False}},
        {"body": "mailto: a@b, see https://host:8080/x@y"},
    ],
)
def test_what_is_none_passes(value: dict[str, Any]) -> None:
    secrets.refuse(from_plain(value))


def test_masking() -> None:
    line = "try http://u:hunter2@h/ -H 'Authorization: Bearer abc' -c 8"
    assert secrets.mask(line) == "try http://u:***@h/ -H 'Authorization: ***"
    assert secrets.mask("try http://h:8080/a@b -c 8") == "try http://h:8080/a@b -c 8"
