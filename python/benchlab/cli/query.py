"""`benchlab query`: SQL over everything that is kept."""

import csv
import json
import sys
from collections.abc import Sequence
from numbers import Number
from typing import Annotated, Any

import typer

from benchlab.cli.options import Json


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help='E.g. "SELECT * FROM runs".')],
    as_csv: Annotated[bool, typer.Option("--csv", help="Say it as CSV.")] = False,
    as_json: Json = False,
) -> None:
    """Ask all runs in the store in SQL; its tables: SHOW TABLES, DESCRIBE figures."""
    from benchlab import store
    from benchlab.model.errors import InputError
    from benchlab.store.query import query as ask

    if as_csv and as_json:
        raise InputError("give --csv or --json, not both")
    found = ask(sql, store.runs())
    if as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows([found.columns, *found.rows])
    elif as_json:
        rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
        print(json.dumps(_finite(rows), default=str))
    else:
        _show(found.columns, found.rows)


def _finite(value: Any) -> Any:
    """JSON has no infinity and no "not a number": null stands for them."""
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, dict):
        return {str(key): _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value


def _show(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Columns side by side, as wide as they need to be: a pipe cuts nothing off."""
    from benchlab.report.terminal import clean

    cells = [[_cell(value, clean) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    numeric = [any(isinstance(row[place], Number) for row in rows) for place in range(len(columns))]
    for line in (columns, *cells):
        parts = zip(line, widths, numeric, strict=True)
        aligned = [text.rjust(width) if is_n else text.ljust(width) for text, width, is_n in parts]
        print("  ".join(aligned).rstrip())
    print(f"({len(rows)} {'row' if len(rows) == 1 else 'rows'})")


def _cell(value: Any, clean: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(clean(str(value)))
