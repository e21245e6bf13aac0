"""Families: every layout makes a sound bundle, the same order the same bytes, and splits share nothing."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.environments.acceptance import verify_bundle
from astra_mcp.environments.bundle import Bundle, ScenarioType
from astra_mcp.environments.creation import texts_of
from astra_mcp.environments.loading import parse_bundle
from astra_mcp.errors import ConfigError
from astra_mcp.sandbox import Sandbox, SandboxLimits, open_sandbox
from astra_mcp.synthesis.environments.families.brief import Brief, Knobs, layouts_of
from astra_mcp.synthesis.environments.families.catalog import FAMILIES, find_families
from astra_mcp.synthesis.environments.families.draw import Draw
from astra_mcp.synthesis.environments.families.entities import closed_vocabulary
from astra_mcp.synthesis.environments.families.generation import (
    Order,
    SplitBy,
    make_planned,
    plan,
)

from tiers import AT_THE_GATE

ALL = find_families(["all"])
QUICK = {"bookings", "micro-boxes", "micro-relations", "micro-routes"}
THIRDS = {"train": 34, "validation": 33, "test": 33}


@pytest.mark.parametrize("family", ALL, ids=lambda f: f.name)
def test_every_layout_of_a_family_makes_a_bundle_that_loads(family: Any) -> None:
    for number, layout in enumerate(layouts_of(family.bounds)):
        brief = Brief(family.name, "zh" if number % 2 else "en", layout, Knobs(records=12), number)
        bundle = family.drafts(brief)[0].bundle("made")
        assert parse_bundle("made", texts_of(bundle)).content_hash == bundle.content_hash
        assert len(bundle.document.sub_tasks) == layout.total
        assert bundle.document.scenario_type is layout.scenario


@pytest.mark.parametrize("family", ALL, ids=lambda f: f.name)
def test_further_questions_of_a_family_are_others_over_the_same_data_and_tools(family: Any) -> None:
    layouts = [*layouts_of(family.bounds)]
    for number, layout in enumerate((layouts[0], layouts[len(layouts) // 2], layouts[-1])):
        wanted = min(4, family.bounds.questions)
        brief = Brief(family.name, "zh" if number % 2 else "en", layout, Knobs(30, 3), number)
        drafts = family.drafts(replace(brief, questions=wanted))
        made = [d.bundle("made") for d in drafts]
        assert len({b.document.question for b in made}) == wanted
        assert len({b.code for b in made}) == 1
        assert len({repr(b.document.tools) for b in made}) == 1
        whole = drafts[0].bundle("made", drafts[1:])
        assert [b.document.answer for b in whole.asked] == [b.document.answer for b in made]


def test_families_together_make_all_types_one_to_eight_sub_tasks_and_both_languages() -> None:
    briefs = [p.brief for p in plan(Order(ALL, 400))]
    assert len([f for f in ALL if not f.is_micro]) >= 16
    assert {b.layout.scenario for b in briefs} == {*ScenarioType}
    assert {b.layout.total for b in briefs} == {*range(1, 9)}
    assert {b.language for b in briefs} == {"en", "zh"}
    assert {b.family for b in briefs} == {*FAMILIES}


def _content(order: Order) -> str:
    made = [texts_of(make_planned(p)) for p in plan(order)]
    return sha256(repr(made).encode()).hexdigest()


def test_the_same_order_makes_the_same_bytes_in_a_process_with_other_hashes() -> None:
    program = (
        "import sys; sys.path.insert(0, {here!r})\n"
        "import test_families as t\n"
        "print(t._content(t.Order(t.ALL, 2 * len(t.ALL), 3)))"
    ).format(here=str(__file__).rpartition("/")[0])
    support = str(__file__).rpartition("/synthesis")[0] + "/support"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={"PYTHONHASHSEED": "77", "PYTHONPATH": support},
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == _content(Order(ALL, 2 * len(ALL), 3))


def test_a_greater_count_begins_with_the_environments_of_a_smaller_one() -> None:
    few, many = ([p.name for p in plan(Order(ALL, n, 4))] for n in (20, 50))
    assert many[:20] == few
    assert len({*many}) == 50


def test_two_environments_of_a_family_share_no_schema_and_no_question() -> None:
    bundles = [make_planned(p) for p in plan(Order(find_families(["bookings", "ledgers"]), 40))]
    tools = [t.model_dump_json() for b in bundles for t in b.document.tools]
    assert len({*tools}) == len(tools)
    assert len({b.document.question for b in bundles}) == 40


def _entities(bundle: Bundle) -> Iterator[str]:
    """Codes and names in gold arguments: what is neither a number, a day nor a choice of the schema."""
    schemas: Mapping[str, Any] = {
        t.name: t.input_schema["properties"] for t in bundle.document.tools
    }
    for call in bundle.document.gold:
        for name, value in call.values.items():
            schema = schemas[call.tool][name]
            is_free = isinstance(value, str) and not {"enum", "format", "default"} & schema.keys()
            if is_free and not call.arguments[name].derived_from:
                yield str(value)


@pytest.mark.parametrize("families", ["bookings", "micro"])
def test_splits_by_entity_share_no_name_and_no_code(families: str) -> None:
    order = Order(find_families([families]), 60, splits=THIRDS, split_by=SplitBy.ENTITY)
    found: dict[str, set[str]] = {}
    for planned in plan(order):
        bundle = make_planned(planned)
        drawn = {e for e in _entities(bundle) if not e.startswith("PV-")}  # made up by a tool
        found.setdefault(str(planned.split), set()).update(drawn)
    assert found.keys() == THIRDS.keys()
    train, validation, test = (found[name] for name in THIRDS)
    assert not train & validation
    assert not train & test
    assert not validation & test


def test_splits_by_family_keep_each_family_in_one_split() -> None:
    order = Order(ALL, 200, splits=THIRDS, split_by=SplitBy.FAMILY)
    homes: dict[str, set[str | None]] = {}
    for planned in plan(order):
        homes.setdefault(planned.family.name, set()).add(planned.split)
    assert all(len(splits) == 1 for splits in homes.values())
    assert {s for splits in homes.values() for s in splits} == THIRDS.keys()


def test_splits_by_question_share_worlds_and_no_question() -> None:
    order = Order(
        find_families(["tickets"]), 3, splits=THIRDS, split_by=SplitBy.QUESTION, questions=7
    )
    made = [(str(p.split), make_planned(p)) for p in plan(order)]
    assert len({b.name for _, b in made}) == len(made) == 9
    assert len({b.code for _, b in made}) == 3
    questions = [q.document.question for _, b in made for q in b.asked]
    assert len({*questions}) == len(questions) == 3 * 7
    assert {split for split, _ in made} == THIRDS.keys()


def test_fewer_questions_than_splits_are_refused() -> None:
    order = Order(ALL, 1, splits=THIRDS, split_by=SplitBy.QUESTION, questions=2)
    with pytest.raises(ConfigError, match="cannot be divided into 3 splits"):
        next(plan(order))


def test_an_order_that_no_family_can_fill_is_refused() -> None:
    with pytest.raises(ConfigError, match="ask for wider ranges"):
        next(plan(Order(find_families(["micro"]), 1, sub_tasks=(8, 8), hops=(8, 8))))


@given(st.integers(0, 2**64 - 1), st.integers(1, 50), st.data())
def test_draws_stay_in_their_bounds_and_repeat_nothing(seed: int, size: int, data: Any) -> None:
    draw, count = Draw(seed), data.draw(st.integers(0, size))
    drawn = draw.some(range(size), count)
    assert len({*drawn}) == count
    assert {*drawn} <= {*range(size)}
    assert 3 <= draw.between(3, 3 + size) <= 3 + size


@pytest.fixture(scope="module")
async def sandbox(anyio_backend: str) -> Any:
    """A real sandbox that all tests of the module share."""
    async with open_sandbox(SandboxLimits()) as opened:
        yield opened


@pytest.mark.parametrize(
    "family",
    [pytest.param(f, id=f.name, marks=() if f.name in QUICK else AT_THE_GATE) for f in ALL],
)
async def test_an_environment_of_a_family_is_verified(family: Any, sandbox: Sandbox) -> None:
    bundle = make_planned(next(plan(Order([family], 1, 1))))
    assert (await verify_bundle(bundle, sandbox)).failed_checks == ()


@pytest.mark.volume
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(8))
async def test_two_thousand_environments_are_verified(part: int, sandbox: Sandbox) -> None:
    refused = [
        planned.name
        for planned in islice(plan(Order(ALL, 2000, 9)), part, None, 8)
        if not (await verify_bundle(make_planned(planned), sandbox)).verified
    ]
    assert refused == []


def test_micro_names_are_shared_or_where_splits_are_by_entity_made_up() -> None:
    micro = find_families(["micro"])
    shared = {*closed_vocabulary("en"), *closed_vocabulary("zh")}
    usual = {e for planned in plan(Order(micro, 20)) for e in _entities(make_planned(planned))}
    assert usual <= shared
    order = Order(micro, 60, splits=THIRDS, split_by=SplitBy.ENTITY)
    for planned in plan(order):
        made_up = {*_entities(make_planned(planned))}
        assert not shared & made_up
        signs = "".join(made_up) if planned.brief.language == "zh" else ""
        assert len({*signs}) == len(signs)  # of which the matcher makes words
