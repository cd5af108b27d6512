"""What changes data is told from what only asks."""

from typing import Any

import pytest

from benchlab.load.effects import changing


@pytest.mark.parametrize(
    ("request_", "changes"),
    [
        ({"sql": " select 1"}, False),
        ({"sql": "WITH a AS (SELECT 1) SELECT * FROM a"}, False),
        ({"sql": "WITH a AS (DELETE FROM b RETURNING c) SELECT * FROM a"}, True),
        ({"sql": "UPDATE a SET b = 1"}, True),
        ({"sql": "CALL something()"}, True),
        ({"sql": "selected"}, True),
        ({"command": ["mget", "a"]}, False),
        ({"command": ["GETDEL", "a"]}, True),
        ({"command": ["EVAL", "return 1", "0"]}, True),
        ({"ldap": {"search": {"base": ""}}}, False),
        ({"ldap": {"add": {"dn": ""}}}, True),
        ({"file": {"read": {"bytes": 1}}}, False),
        ({"file": {"write": {"bytes": 1}}}, True),
        ({"http": {"method": "POST"}}, False),
    ],
)
def test_what_cannot_be_told_counts_as_a_change(request_: Any, changes: bool) -> None:
    operations = [{"name": "it", "request": request_}, {"name": "it", "request": request_}]
    plan = {"workload": {"transactions": [{"operations": operations}]}}
    assert changing(plan) == (("it",) if changes else ())
