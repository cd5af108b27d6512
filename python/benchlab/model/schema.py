"""The experiment file as a JSON Schema, for editors: made from the forms the reader itself uses.

It knows each key and its form. What depends on other keys (paths of factors, levels, what a kind of
system takes) is the reader's alone to judge.
"""

import json
from typing import Any

from benchlab.model.sections import TOP

ABOUT: dict[str, str] = {
    "experiment": "Its name: letters, digits, dots and dashes.",
    "question": "What the answer on top of the report answers.",
    "systems": "The systems under test by name: started by the lab, or `at:` a URL.",
    "workload": "What is asked: a built-in workload by `name`, or a `mix` of requests.",
    "load": "When it is asked: closed (`clients`) or open (`rate`).",
    "factors": "What varies: a path with a list of values, or named levels. All combinations are"
    " cases.",
    "skip": "Combinations of levels that are left out.",
    "compare": "The comparison that counts: its rule is fixed before anything is measured.",
    "sessions": "Fresh starts of every system: the replicates. 8 with `compare`, else 3. Or"
    " `{precision: 2%}`: 8, then as many as make the intervals ±2 % wide, at most 20.",
    "blocks": "How often a session goes through all cases, in random order. 2 unless given.",
    "order": "How systems take turns: all up and one of them asked (`resident`), each started"
    " afresh for each block (`blocks`), or one after the other (`sequential`).",
    "seed": "Of all that is drawn; 1 unless given.",
    "promises": "Thresholds such as `latency_p99 < 50ms`; a broken one ends with exit code 1.",
    "full": "Axes that take the place of the factors' with --full.",
    "abort_when": "Thresholds that end a case at once, such as `errors > 5%`.",
    "allow": "Validity rows that are widened; printed beside the answer.",
    "faults": "Not available in this version.",
}
"""What an editor says of each section."""


def json_schema() -> dict[str, Any]:
    """The schema that is shipped as `experiment.schema.json`."""
    schema = TOP.schema()
    for section, about in ABOUT.items():
        schema["properties"][section] |= {"description": about}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Benchlab experiment",
        **schema,
    }


def text() -> str:
    """The shipped file's content; `python -m benchlab.model.schema` prints it."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(text(), end="")
