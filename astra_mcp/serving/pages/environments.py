"""The environments: a list to choose from, and each with its question, its graph, its tools and its gold."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from astra_mcp.compose.verdicts import Judged, JudgedBundle
from astra_mcp.environments.acceptance.verdict import Verdict
from astra_mcp.environments.bundle import Bundle, Question
from astra_mcp.serving.pages.fields import ArgumentField, fields_of, has_form
from astra_mcp.serving.pages.graph import draw
from astra_mcp.serving.pages.parts import PageParts
from astra_mcp.serving.pages.rendering import (
    CUT_AT,
    CutText,
    Renderer,
    cut_text,
    paging_of,
    pretty_json,
)
from astra_mcp.types import ToolSpec
from gateway.api.environments import EnvironmentFilter
from gateway.api.seams import EnvironmentSummary

__all__ = ["EnvironmentPages", "ToolView", "tool_view"]

_MAX_QUESTIONS = 100
"""So many further questions are listed; the others are reached by their ids."""
_MAX_GIST = 160
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\.\w\.)\s+|(?<=[\u3002\uff01\uff1f])")
"""Between two sentences; not behind "e.g."."""
_FACETS = ("domain", "language", "scenario_type", "hops", "family")
_NAMES = {"scenario_type": "type"}
"""What an address calls a facet, where that is another word."""
_NOT_JUDGED = "no"
_VERIFIED: Mapping[str, bool | None] = {"": None, "yes": True, "no": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolView:
    """A tool as a page shows it."""

    name: str
    description: CutText
    gist: CutText
    """The first sentence of its description, where only its name has room."""
    fields: Sequence[ArgumentField]
    has_form: bool
    """False where the arguments are too many to be written but as JSON."""
    schema: CutText


def tool_view(tool: ToolSpec) -> ToolView:
    """Prepare a tool for a page."""
    fields = fields_of(tool.input_schema)
    return ToolView(
        name=tool.name,
        description=cut_text(tool.description),
        fields=fields,
        has_form=has_form(fields),
        gist=cut_text(_first_sentence(tool.description), _MAX_GIST),
        schema=cut_text(pretty_json(tool.input_schema)),
    )


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text[:CUT_AT].strip().partition("\n\n")[0].split())
    return _SENTENCE.split(paragraph, maxsplit=1)[0]


class EnvironmentPages:
    """Answers at ``/environments``."""

    def __init__(self, parts: PageParts, renderer: Renderer) -> None:
        self._parts = parts
        self._renderer = renderer
        self._facets: tuple[Sequence[EnvironmentSummary], Mapping[str, Sequence[str]]] | None = None

    def routes(self) -> Iterator[Route]:
        """Lay out the addresses."""
        yield Route("/environments", self.show_list, methods=["GET"])
        yield Route("/environments/{name}", self.show_one, methods=["GET"])

    # --- the list --------------------------------------------------------------------------------

    async def show_list(self, request: Request) -> Response:
        """Show those that fit, a page at a time."""
        asked = {k: v for k, v in request.query_params.items() if v and k != "page"}
        every = self._parts.catalog.summaries()
        known = await anyio.to_thread.run_sync(self._parts.judgements.known)
        found, fault = _choose(every, asked, known)
        paging = paging_of(request, "/environments", asked, len(found))
        return self._renderer.page(
            request,
            "environments",
            rows=found[paging.begin : paging.end],
            asked=asked,
            facets=self._facets_of(every),
            known=known,
            judged=(*Judged, _NOT_JUDGED) if known or "judged" in asked else (),
            fault=fault,
            paging=paging,
            num_all=len(every),
        )

    def _facets_of(self, every: Sequence[EnvironmentSummary]) -> Mapping[str, Sequence[str]]:
        """What can be chosen, counted once as long as the environments stay the same."""
        if self._facets is None or self._facets[0] is not every:
            found = {_NAMES.get(facet, facet): _values(every, facet) for facet in _FACETS}
            self._facets = every, found
        return self._facets[1]

    # --- one -------------------------------------------------------------------------------------

    async def show_one(self, request: Request) -> Response:
        """Show one environment, as one of its questions."""
        name, question = request.path_params["name"], request.query_params.get("question") or None
        catalog = self._parts.catalog
        catalog.environment(name)  # the error that names the closest ones
        await catalog.upstream(name).prepare()
        info = catalog.environment(name)
        bundle, verdict = await anyio.to_thread.run_sync(self._look_into, name)
        known = await anyio.to_thread.run_sync(self._parts.judgements.known)
        asked = None if bundle is None else bundle.asking(question).document
        questions = catalog.questions(name)
        prompt, gold = cut_text(catalog.question(name, question)), catalog.gold(name, question)

        def render() -> Response:
            return self._renderer.page(
                request,
                "environment",
                info=info,
                question_id=question,
                prompt=prompt,
                questions=questions[:_MAX_QUESTIONS],
                num_more=max(0, len(questions) - _MAX_QUESTIONS),
                sub_tasks=() if asked is None else asked.sub_tasks,
                answer=None if asked is None else asked.answer,
                drawing=None if asked is None else _drawing(asked),
                tools=[tool_view(tool) for tool in info.tools],
                gold=gold,
                verdict=verdict,
                judged=known.get(info.content_hash),
            )

        return await anyio.to_thread.run_sync(render)

    def _look_into(self, name: str) -> tuple[Bundle | None, Verdict | None]:
        bundle = self._parts.bundle_of(name)
        return bundle, None if bundle is None else self._parts.verdict_of(bundle)


def _drawing(asked: Question) -> Any:
    return draw(asked.sub_tasks)


def _values(every: Sequence[EnvironmentSummary], facet: str) -> Sequence[str]:
    read = attrgetter(facet)
    found = {read(summary) for summary in every} - {None}
    return [str(value) for value in sorted(found)]


def _choose(
    every: Sequence[EnvironmentSummary],
    asked: Mapping[str, str],
    known: Mapping[str, JudgedBundle],
) -> tuple[Sequence[EnvironmentSummary], str]:
    """Find those that fit what an address asks for; and what of it cannot be, in words."""
    hops, verified = _number(asked.get("hops")), asked.get("verified", "")
    if "hops" in asked and hops is None:
        return (), f"hops is a number, not {asked['hops']!r}"
    if verified not in _VERIFIED:
        return (), f"verified is yes or no, not {verified!r}"
    judged = asked.get("judged")
    if judged is not None and judged not in {*Judged, _NOT_JUDGED}:
        return (), f"judged is {', '.join(Judged)} or {_NOT_JUDGED}, not {judged!r}"
    wanted = EnvironmentFilter(
        domain=asked.get("domain"),
        language=asked.get("language"),
        type=asked.get("type"),
        hops=hops,
        family=asked.get("family"),
        verified=_VERIFIED[verified],
    )
    found = every if wanted == EnvironmentFilter() else [s for s in every if wanted.fits(s)]
    if judged is not None:
        found = [s for s in found if _judged_word(known.get(s.content_hash)) == judged]
    words = asked.get("q", "").casefold()
    if words:
        found = [s for s in found if words in s.name or words in s.title.casefold()]
    return found, ""


def _judged_word(said: JudgedBundle | None) -> str:
    return _NOT_JUDGED if said is None else said.judged


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None
