"""What the acceptance says of bundles of which it is known what should be said.

    python -P benchmarks/acceptance.py [--seeds N] [--kind GLOB] [--jobs N] [--write FOLDER] [--json FILE]
    python -P benchmarks/acceptance.py --folder FOLDER [--expect verified|refused] ...

By default: the corpus of `tests/support/bundle_corpus`, cheating and broken bundles in many kinds, each with
its twin that differs by the named change alone, and honest ones. A folder holds bundles, and may hold an
`index.json` with `[{"name", "kind", "expected", "checks"}]`. Prints a line for each kind, then each bundle
that was not judged as expected. Processor time is that of the acceptance with its sandbox. Exit code 1 where
anything was not as expected.
"""

import argparse
import json
import multiprocessing
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    str(_HERE.parent / "tests" / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

from circumstances import conditions  # noqa: E402 - after the search path is right
from judged_bundles import (  # noqa: E402
    Found,
    Subject,
    corpus_subjects,
    folder_subjects,
    judge,
    write_bundles,
)

_BATCH = 6
"""Bundles that share a sandbox."""
_COLUMNS = ("kind", "expected", "n", "verified", "refused", "as stated", "CPU s", "calls")


def main() -> None:
    """Judge, print, and write the figures where asked to."""
    options = _options()
    subjects = _subjects(options)
    if options.write:
        write_bundles(subjects, options.write)
        return
    circumstances = conditions(seeds=options.seeds, kind=options.kind, jobs=options.jobs)
    found = list(_judged(subjects, options.jobs))
    figures = _figures(found)
    print(_table(figures["kinds"]))
    for wrong in figures["mismatches"]:
        print(f"\n{wrong['name']} ({wrong['kind']}), expected {wrong['expected']}:")
        told = wrong["failed_checks"] or [{"check": "none", "detail": "verified"}]
        print("\n".join(f"  {one['check']}: {one['detail']}" for one in told))
    print(f"\n{json.dumps(figures['totals'])}")
    if options.json:
        text = json.dumps(
            figures | {"conditions": circumstances.finished()}, ensure_ascii=False, indent=2
        )
        options.json.write_text(text + "\n", encoding="utf-8")
    sys.exit(bool(figures["mismatches"]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=1, help="variants of each kind (1)")
    parser.add_argument("--kind", default="*", help="only kinds whose name fits this pattern")
    parser.add_argument("--jobs", type=int, default=2, help="processes that judge (2)")
    parser.add_argument("--folder", type=Path, help="judge the bundles of this folder instead")
    parser.add_argument(
        "--expect",
        choices=("verified", "refused"),
        default="verified",
        help="what is expected of a folder's bundles where no index says so (verified)",
    )
    parser.add_argument("--write", type=Path, help="only write the bundles, with an index, there")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


def _subjects(options: argparse.Namespace) -> list[Subject]:
    if options.folder is None:
        return corpus_subjects(options.seeds, options.kind)
    is_verified = options.expect == "verified"
    return folder_subjects(options.folder, options.kind, is_verified=is_verified)


def _judged(subjects: Sequence[Subject], jobs: int) -> Iterator[Found]:
    """Judge in as many processes, and show how far it is."""
    batches = [subjects[i : i + _BATCH] for i in range(0, len(subjects), _BATCH)]
    context = multiprocessing.get_context("spawn")
    count = 0
    with ProcessPoolExecutor(jobs, mp_context=context) as processes:
        for rows in processes.map(judge, batches):
            count += len(rows)
            print(f"{count} of {len(subjects)}", file=sys.stderr, end="\r", flush=True)
            yield from rows
    print(file=sys.stderr)


def _figures(found: Sequence[Found]) -> dict[str, Any]:
    rows: dict[str, list[Found]] = {}
    for one in found:
        rows.setdefault(one.subject.row, []).append(one)
    bad = [one for one in found if not one.subject.is_verified]
    good = [one for one in found if one.subject.is_verified]
    seconds = [one.cpu_seconds for one in found]
    totals: dict[str, Any] = {
        "kinds": len(rows),
        "to_refuse": len(bad),
        "refused": sum(not one.is_verified for one in bad),
        "refused_as_stated": sum(one.is_for_stated for one in bad),
        "to_verify": len(good),
        "verified": sum(one.is_verified for one in good),
        "cpu_seconds": round(sum(seconds), 1),
        "median_cpu_seconds": round(statistics.median(seconds or [0.0]), 2),
        "most_cpu_seconds": max(seconds, default=0.0),
    }
    return {
        "totals": totals,
        "kinds": {name: _line(of_kind) for name, of_kind in rows.items()},
        "mismatches": [_mismatch(one) for one in found if not one.is_expected],
    }


def _line(found: Sequence[Found]) -> dict[str, Any]:
    calls = [one.calls for one in found if one.calls is not None]
    refused = [one for one in found if not one.is_verified]
    return {
        "expected": _expected(found[0].subject),
        "n": len(found),
        "verified": len(found) - len(refused),
        "refused": len(refused),
        "as stated": sum(one.is_expected for one in found),
        "CPU s": round(sum(one.cpu_seconds for one in found) / len(found), 2),
        "calls": round(sum(calls) / len(calls)) if calls else None,
    }


def _expected(subject: Subject) -> str:
    return "verified" if subject.is_verified else " or ".join(subject.checks) or "refused"


def _mismatch(found: Found) -> dict[str, Any]:
    return {
        "name": found.name,
        "kind": found.subject.row,
        "expected": _expected(found.subject),
        "failed_checks": [{"check": check, "detail": detail} for check, detail in found.failed],
    }


def _table(kinds: Mapping[str, Mapping[str, Any]]) -> str:
    """Render a Markdown table: a line of each kind, with means of processor time and calls."""
    rows = [[*_COLUMNS]]
    for name, line in kinds.items():
        cells = [line[column] for column in _COLUMNS[1:]]
        rows.append([name, *("" if cell is None else str(cell) for cell in cells)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS))]
    lines = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
