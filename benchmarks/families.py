"""How various the environments of families are, and what they cost.

    python -P benchmarks/families.py [--count N] [--seed S] [--families NAMES] [--verify] [--json FILE]

Makes N environments and prints, over all and by family: processor seconds for one (with ``--verify`` also
for the acceptance), near-duplicates of questions by embedding and by 8-grams, distinct tool schemas, distinct
forms of questions, and the share of each layout and knob. A form is a question without what differs by data:
names, codes, numbers and days.
"""

import argparse
import asyncio
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

from astra_mcp.embedding.lexical import LexicalEmbedder  # noqa: E402 - after the search path is right
from astra_mcp.environments.acceptance import verify_bundle  # noqa: E402
from astra_mcp.environments.bundle import Bundle  # noqa: E402
from astra_mcp.errors import DrawError  # noqa: E402
from astra_mcp.sandbox import SandboxLimits, open_sandbox  # noqa: E402
from astra_mcp.synthesis.environments.families.catalog import find_families  # noqa: E402
from astra_mcp.synthesis.environments.families.generation import (  # noqa: E402
    Order,
    Planned,
    make_planned,
    plan,
)
from astra_mcp.types import canonical_json  # noqa: E402

from circumstances import conditions  # noqa: E402
from process_accounts import cpu_seconds  # noqa: E402

_NEAR = 0.95
"""Cosine from which two questions count as one."""
_GRAM = 8
_NEAR_GRAMS = 0.8
"""Share of 8-grams that two questions have in common from which they count as one."""
_TOKEN = re.compile(r"[a-z]+|\d+|[^\sa-z\d]", re.IGNORECASE)
_DAY = re.compile(
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|May|June|July|August"
    r"|September|October|November|December|星期[一二三四五六日]"
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """An environment with what it cost."""

    planned: Planned
    bundle: Bundle
    seconds: float
    verify_seconds: float | None = None
    refused: str = ""


def _cpu() -> float:
    return cpu_seconds(os.getpid(), with_children=True)


def _draw(order: Order) -> Iterator[Drawn]:
    for planned in plan(order):
        began = time.process_time()
        try:
            bundle = make_planned(planned)
        except DrawError as error:
            print(f"not drawn: {planned.name}: {error}", file=sys.stderr)
            continue
        yield Drawn(planned, bundle, time.process_time() - began)


async def _verified(drawn: Iterable[Drawn]) -> list[Drawn]:
    found: list[Drawn] = []
    async with open_sandbox(SandboxLimits()) as sandbox:
        for one in drawn:
            began = _cpu()
            verdict = await verify_bundle(one.bundle, sandbox)
            refused = "; ".join(f"{f.check.value}: {f.detail}" for f in verdict.failed_checks)
            found.append(Drawn(one.planned, one.bundle, one.seconds, _cpu() - began, refused))
            if refused:
                print(f"refused: {one.bundle.name}: {refused}", file=sys.stderr)
    return found


def _form(bundle: Bundle) -> str:
    """The question without what differs by data alone."""
    document, text = bundle.document, bundle.document.question
    said = {re.split("[:\uff1a]", document.title)[0]}
    for call in document.gold:
        said.update(str(v) for v in call.values.values() if isinstance(v, str))
    for value in sorted(said, key=lambda v: (-len(v), v)):
        text = text.replace(value, "_") if value else text
    text = _DAY.sub("_", re.sub(r"\d+", "0", text))
    return re.sub(r"[A-Z][\w'-]+(?: [A-Z][\w'-]+)+", "_", text)


def _schemas(bundle: Bundle) -> list[bytes]:
    """Each tool's schema without examples, which are data."""
    tools = bundle.document.model_dump(mode="json")["tools"]
    for tool in tools:
        for schema in tool["input_schema"]["properties"].values():
            schema.pop("examples", None)
    return [canonical_json([t["name"], t["description"], t["input_schema"]]) for t in tools]


def _near_by_grams(questions: Sequence[str]) -> int:
    """Questions that share most 8-grams of tokens with an earlier one."""
    holders: dict[tuple[str, ...], list[int]] = {}
    grams = [_grams(q) for q in questions]
    near = 0
    for number, own in enumerate(grams):
        shared = Counter(other for gram in own for other in holders.get(gram, ()))
        near += any(
            count / len(own | grams[other]) >= _NEAR_GRAMS for other, count in shared.items()
        )
        for gram in own:
            holders.setdefault(gram, []).append(number)
    return near


def _grams(text: str) -> set[tuple[str, ...]]:
    tokens = [t.lower() for t in _TOKEN.findall(text)]
    return {tuple(tokens[i : i + _GRAM]) for i in range(max(1, len(tokens) - _GRAM + 1))}


async def _near_by_embedding(questions: Sequence[str]) -> int:
    vectors = await LexicalEmbedder().embed(questions)
    near = 0
    for number in range(1, len(questions)):
        near += bool((vectors[:number] @ vectors[number] >= _NEAR).any())
    return near


def _figures(drawn: Sequence[Drawn]) -> dict[str, Any]:
    questions = [one.bundle.document.question for one in drawn]
    schemas = [s for one in drawn for s in _schemas(one.bundle)]
    spent = [one.verify_seconds for one in drawn if one.verify_seconds is not None]
    figures: dict[str, Any] = {
        "environments": len(drawn),
        "made_cpu_seconds": round(float(np.mean([one.seconds for one in drawn])), 4),
        "distinct_questions": len({*questions}),
        "near_by_embedding": asyncio.run(_near_by_embedding(questions)),
        "near_by_8_grams": _near_by_grams(questions),
        "distinct_forms": len({_form(one.bundle) for one in drawn}),
        "tools": len(schemas),
        "distinct_schemas": len({*schemas}),
        "domains": len({one.bundle.document.domain for one in drawn}),
    }
    if spent:
        figures["verified"] = sum(not one.refused for one in drawn)
        figures["verify_cpu_seconds"] = round(float(np.mean(spent)), 2)
        figures["verify_cpu_seconds_most"] = round(max(spent), 2)
    return figures


def _shares(drawn: Sequence[Drawn]) -> dict[str, dict[str, float]]:
    counted: dict[str, Counter[str]] = {}
    for one in drawn:
        brief = one.planned.brief
        for name, value in (
            ("language", brief.language),
            ("scenario type", brief.layout.scenario.value),
            ("sub-tasks", str(brief.layout.total)),
            ("hops", str(brief.layout.depth + brief.layout.concludes)),
            ("records", f"{brief.knobs.records // 50 * 50}+"),
            ("near misses", str(brief.knobs.near_misses)),
            ("options", str(brief.knobs.options)),
        ):
            counted.setdefault(name, Counter())[value] += 1
    return {
        name: {v: round(n / len(drawn), 3) for v, n in sorted(counts.items())}
        for name, counts in counted.items()
    }


def main() -> int:
    """Run, and print; exits with 1 where an environment was refused."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--families", default="all")
    parser.add_argument("--verify", action="store_true", help="also run the acceptance on each")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    asked = parser.parse_args()
    circumstances = conditions(count=asked.count, seed=asked.seed)
    drawn = [*_draw(Order(find_families(asked.families.split(",")), asked.count, asked.seed))]
    if asked.verify:
        drawn = asyncio.run(_verified(drawn))
    rows = {"all": _figures(drawn)}
    for family in sorted({one.planned.family.name for one in drawn}):
        rows[family] = _figures([one for one in drawn if one.planned.family.name == family])
    _print(rows, shares := _shares(drawn))
    if asked.json is not None:
        written = {**rows["all"], "families": rows, "shares": shares}
        written["conditions"] = circumstances.finished()
        asked.json.write_text(json.dumps(written, ensure_ascii=False, indent=2), encoding="utf-8")
    return int(any(one.refused for one in drawn))


def _print(rows: dict[str, dict[str, Any]], shares: dict[str, dict[str, float]]) -> None:
    names = [*rows["all"]]
    print("\t".join(["family", *names]))
    for family, row in rows.items():
        print("\t".join([family, *(str(row.get(name, "-")) for name in names)]))
    for knob, values in shares.items():
        print(f"{knob}: " + ", ".join(f"{value} {share:.1%}" for value, share in values.items()))


if __name__ == "__main__":
    sys.exit(main())
