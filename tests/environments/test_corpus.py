"""The acceptance refuses cheats for their own reasons, and lets their honest twins through."""

from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest

from astra_mcp.environments.acceptance import Check, verify_bundle
from astra_mcp.environments.decomposition import decomposition_faults
from astra_mcp.sandbox import Sandbox, SandboxLimits, open_sandbox
from astra_mcp.types import canonical_json

from bundle_corpus import KINDS, Kind
from tiers import AT_THE_GATE

_DEAR = frozenset({"budget"})
"""Checks whose cheats take long by their nature."""
_OFTEN = ("secret_code", "order_matters_unsaid", "many_calls_open", "list_takes_a_thousand")
"""Cheats of classes that no planted cheat stands for: tried before every commit."""
_ONWARD = ("one_value_by_an_option", "pages_run_on", "other_tool_widens")
"""Others of which nothing cheaper is seen than a whole bundle."""
_CHEATS = [kind for kind in KINDS.values() if kind.checks]
_HONEST = [kind for kind in KINDS.values() if not kind.checks]


@pytest.fixture(scope="module")
async def sandbox(anyio_backend: str) -> AsyncGenerator[Sandbox]:
    """A real sandbox that all tests of the module share, with the limits of a gateway."""
    async with open_sandbox(SandboxLimits()) as opened:
        yield opened


def _first_of_each_check() -> Iterator[Kind]:
    told = set(_DEAR)
    for kind in _CHEATS:
        if kind.checks[0] not in told:
            told.add(kind.checks[0])
            yield kind


def _one_variant() -> Iterator[Any]:
    """A cheat for each check, those that are planted elsewhere too at the gate alone."""
    chosen = {kind.name: kind for kind in _first_of_each_check()}
    chosen |= {name: KINDS[name] for name in (*_OFTEN, *_ONWARD)}
    for name, kind in chosen.items():
        yield pytest.param(kind, id=name, marks=() if name in _OFTEN else AT_THE_GATE)


async def _failed(kind: Kind, sandbox: Sandbox, variant: int, *, mended: bool) -> dict[str, str]:
    verdict = await verify_bundle(kind.bundle(variant, mended=mended), sandbox)
    return {failure.check.value: failure.detail for failure in verdict.failed_checks}


async def _assert_told_apart(kind: Kind, sandbox: Sandbox, variant: int) -> None:
    failed = await _failed(kind, sandbox, variant, mended=False)
    assert failed.keys() & {*kind.checks}, f"expected one of {kind.checks}, found {failed}"
    assert await _failed(kind, sandbox, variant, mended=True) == {}


def test_every_check_has_a_pair() -> None:
    assert {check for kind in _CHEATS for check in kind.checks} == {check.value for check in Check}


def _content(kind: Kind, variant: int, *, mended: bool = False) -> bytes:
    bundle = kind.bundle(variant, mended=mended)
    document = bundle.document.model_dump(mode="json", exclude={"name"})
    return canonical_json([document, bundle.code, bundle.server.get("description")])


def test_a_variant_is_made_the_same_again_and_no_two_are_alike() -> None:
    for kind in KINDS.values():
        contents = {_content(kind, v, mended=m) for v in range(3) for m in (False, True)}
        assert _content(kind, 1) in contents, kind.name
        assert len(contents) == (6 if kind.checks else 3), kind.name


def test_honest_bundles_of_the_corpus_are_in_two_languages_and_of_many_shapes() -> None:
    documents = [kind.bundle(v).document for kind in _HONEST for v in range(2)]
    assert {d.language for d in documents} == {"en", "zh"}
    assert len({d.scenario_type for d in documents}) == 4
    assert [f for d in documents for f in decomposition_faults(d)] == []


@pytest.mark.parametrize("kind", [*_one_variant()])
async def test_a_cheat_is_refused_for_its_reason_and_its_twin_is_verified(
    kind: Kind, sandbox: Sandbox
) -> None:
    await _assert_told_apart(kind, sandbox, variant=0)


@pytest.mark.volume
@pytest.mark.timeout(900)
@pytest.mark.parametrize("variant", range(3))
@pytest.mark.parametrize("kind", _CHEATS, ids=lambda k: k.name)
async def test_every_cheat_of_the_corpus_is_told_from_its_twin(
    kind: Kind, sandbox: Sandbox, variant: int
) -> None:
    await _assert_told_apart(kind, sandbox, variant)


@pytest.mark.volume
@pytest.mark.parametrize("variant", range(3))
@pytest.mark.parametrize("kind", _HONEST, ids=lambda k: k.name)
async def test_every_honest_bundle_of_the_corpus_is_verified(
    kind: Kind, sandbox: Sandbox, variant: int
) -> None:
    assert await _failed(kind, sandbox, variant, mended=True) == {}
