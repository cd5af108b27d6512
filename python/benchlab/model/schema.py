"""The experiment file as a JSON Schema, for editors: made from the forms the reader itself uses.

It knows each key and its form. What depends on other keys (paths of factors, levels, what a kind of
system takes) is the reader's alone to judge.
"""

import json
from typing import Any

from benchlab.model.sections import TOP


def json_schema() -> dict[str, Any]:
    """The schema that is shipped as `experiment.schema.json`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Benchlab experiment",
        **TOP.schema(),
    }


def text() -> str:
    """The shipped file's content; `python -m benchlab.model.schema` prints it."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(text(), end="")
