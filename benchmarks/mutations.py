"""Whether the tests notice a changed token: named mutations of ten places, and drawn ones of all code.

    python benchmarks/mutations.py [--only NAME] [--drawn N] [--seed S] [--whole] [--list] [--json FILE]

Each is made in a copy of the checkout and of its environment. The tests run that import the mutated module,
then those of its folder, until one fails that passes without the mutation; with `--whole`, all tests run
against what survives these. What is found goes to the state file, by the text of the mutated module, and is
not tried again: a run that was stopped goes on. Exit code 1 where a named mutation was not killed.
"""

import argparse
import json
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

from circumstances import conditions  # noqa: E402 - after the search path is right
from mutant_trials import Fate, Trials, copied  # noqa: E402
from mutants import NAMED, LostAnchorError, Mutant, drawn_mutants, find_mutant  # noqa: E402
from source_graph import SourceGraph, read_sources  # noqa: E402

ROOT = _HERE.parent
STATE = ROOT / ".cache" / "mutations.json"


def main() -> None:
    """Try the mutations, print, and write the figures where asked to."""
    options = _parser().parse_args()
    graph = read_sources(ROOT)
    mutants = [*_named(graph), *drawn_mutants(graph, options.drawn, options.seed)]
    if options.only:
        mutants = [one for one in mutants if options.only in one.name]
    if options.list:
        for mutant in mutants:
            print(
                f"{mutant.name}: {mutant.module}:{mutant.line}: {mutant.before} -> {mutant.after}"
            )
        return
    circumstances = conditions(seed=options.seed, drawn=options.drawn, whole=options.whole)
    fates = _tried(mutants, graph, options)
    figures = _figures(fates)
    for name, value in figures.items():
        print(f"{name}: {json.dumps(value, indent=4, ensure_ascii=False)}")
    if options.json:
        text = json.dumps(
            figures | {"conditions": circumstances.finished()}, indent=2, ensure_ascii=False
        )
        options.json.write_text(text + "\n", encoding="utf-8")
    sys.exit(any(fate.fate != "killed" for fate in fates if not fate.name.startswith("drawn")))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="See whether the tests notice changed tokens.")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument(
        "--only", metavar="NAME", help="those whose name holds this: relay, drawn 7"
    )
    parser.add_argument("--list", action="store_true", help="print them, and try none")
    parser.add_argument("--drawn", type=int, default=40, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--whole", action="store_true", help="run all tests against survivors")
    parser.add_argument("--seconds", type=float, default=300.0, help="for the tests of a mutation")
    parser.add_argument("--whole-seconds", type=float, default=1200.0, help="for all tests")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--state", type=Path, default=STATE, metavar="FILE")
    parser.add_argument("--again", action="store_true", help="forget what was found before")
    return parser


def _named(graph: SourceGraph) -> list[Mutant]:
    found: list[Mutant] = []
    lost: list[str] = []
    for anchor in NAMED:
        try:
            found.append(find_mutant(graph, anchor))
        except LostAnchorError as error:
            lost.append(str(error))
    if lost:
        sys.exit("\n".join(lost))
    return found


def _tried(mutants: list[Mutant], graph: SourceGraph, options: argparse.Namespace) -> list[Fate]:
    known = {} if options.again else _known(options.state)
    fates: list[Fate] = []
    with copied(ROOT) as copy:
        whole_seconds = options.whole_seconds if options.whole else 0.0
        trials = Trials(copy, graph, options.seconds, whole_seconds, options.processes)
        for mutant in mutants:
            key = sha256(f"{mutant.module}\n{mutant.text}\n{options.whole}".encode()).hexdigest()
            fate = known.get(key)
            if fate is None or fate.fate == "undecided":
                fate = trials.try_mutant(mutant)
            fates.append(fate._replace(name=mutant.name))
            known[key] = fates[-1]
            _save(options.state, known)
            print(
                f"{fate.fate} {mutant.name}: {fate.module}:{fate.line}: {fate.change}", flush=True
            )
            print(f"    {fate.by} ({fate.seconds:g} s)", flush=True)
    return fates


def _figures(fates: list[Fate]) -> dict[str, Any]:
    named = [fate for fate in fates if not fate.name.startswith("drawn")]
    drawn = [fate for fate in fates if fate.name.startswith("drawn")]
    figures: dict[str, Any] = {}
    for name, group in (("named", named), ("drawn", drawn)):
        counts = Counter(fate.fate for fate in group)
        figures |= {
            f"{name}_tried": len(group),
            f"{name}_killed": counts["killed"],
            f"{name}_survivors": [_line(f) for f in group if f.fate == "survived"],
            f"{name}_undecided": [_line(f) for f in group if f.fate == "undecided"],
        }
    return figures | {
        "killed_by": {f"{f.name}: {f.change}": f.by for f in fates if f.fate == "killed"}
    }


def _line(fate: Fate) -> str:
    return f"{fate.name}: {fate.module}:{fate.line}: {fate.change}"


def _known(path: Path) -> dict[str, Fate]:
    if not path.exists():
        return {}
    return {key: Fate(*row) for key, row in json.loads(path.read_text(encoding="utf-8")).items()}


def _save(path: Path, known: dict[str, Fate]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(known, indent=1), encoding="utf-8")
    draft.replace(path)


if __name__ == "__main__":
    main()
