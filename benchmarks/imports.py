"""How the product's modules stand on each other: import chains, folders, layers, lines, docstrings, types.

    python benchmarks/imports.py [--json FILE] [--check] [--root FOLDER]

Reads files and executes none. Every import counts, also one inside a function and one for annotations alone.
An arrow up is an import from a layer of the contracts in `pyproject.toml` to one above it or beside it. With
`--check`, a bound that does not hold is printed and the exit code is 1.
"""

import argparse
import json
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

from circumstances import conditions  # noqa: E402 - after the search path is right
from source_figures import broken_bounds, measured  # noqa: E402


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    parser = argparse.ArgumentParser(description="Measure how the modules stand on each other.")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a bound is broken")
    parser.add_argument("--root", type=Path, default=_HERE.parent, help="the checkout to read")
    options = parser.parse_args()
    figures = measured(options.root)
    for name, value in figures.items():
        print(f"{name}: {json.dumps(value, indent=4)}")
    if options.json:
        whole = figures | {"conditions": conditions(seed=None).finished()}
        text = json.dumps(whole, indent=2, ensure_ascii=False)
        options.json.write_text(text + "\n", encoding="utf-8")
    broken = broken_bounds(figures)
    if options.check and broken:
        sys.exit("\n".join(broken))


if __name__ == "__main__":
    main()
