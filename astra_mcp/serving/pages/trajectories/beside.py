"""An episode beside another one, or beside the gold calls of its question: call by call, what differs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from astra_mcp.call_record import CallRecord, EpisodeStatus
from astra_mcp.compose.episodes import reward_of, source_of
from astra_mcp.errors import NotAvailableError, RegistryError, UnknownNameError
from astra_mcp.reward import Reward
from astra_mcp.serving.pages.episodes import CallView, call_views, find_record
from astra_mcp.serving.pages.parts import PageParts
from astra_mcp.serving.pages.rendering import Renderer
from astra_mcp.serving.pages.trajectories.files import Player, TrajectoryFiles
from astra_mcp.serving.pages.trajectories.neighbours import Neighbour, neighbours_of, player_in
from astra_mcp.serving.pages.trajectories.pairs import (
    MAX_ALIGNED,
    are_aligned,
    differences_in,
    pairs_of,
)
from astra_mcp.serving.pages.trajectories.short_ids import ShortIds
from gateway.api.seams import GoldCall
from gateway.episodes.archive import status_of, time_at
from gateway.episodes.record import Record, read_record

__all__ = ["BesidePages"]

GOLD = "gold"
"""Stands in an address for the gold calls of the question."""
_PAIRS = 100
"""Of one page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One of the two."""

    id: str | None
    """None for gold calls."""
    player: str | None
    status: EpisodeStatus | None
    seed: int | None
    reward: Reward | None
    num_calls: int
    num_solved: int
    num_sub_tasks: int
    calls: Sequence[CallRecord]

    def view(self, call: CallRecord | None) -> CallView | None:
        """Prepare a call for a page."""
        if call is None:
            return None
        view = call_views([call])[0]
        if self.id is not None:
            return view
        # Gold has no results, and is not unfinished for that.
        return replace(
            view, words=[(kind, words) for kind, words in view.words if kind == "solved"]
        )


class BesidePages:
    """Answers at ``/episodes/ID/beside``."""

    def __init__(self, parts: PageParts, renderer: Renderer, files: TrajectoryFiles) -> None:
        self._parts = parts
        self._renderer = renderer
        self._files = files
        self._short_ids = ShortIds(parts.index, renderer)

    def routes(self) -> Iterator[Route]:
        """Lay out the one address."""
        yield Route("/episodes/{id}/beside", self.show, methods=["GET"])

    async def show(self, request: Request) -> Response:
        """Show what an episode can be put beside, or both where that is chosen."""
        id_, other = request.path_params["id"], request.query_params.get("with", "").strip()
        path = find_record(self._parts.records, id_)
        record = await anyio.to_thread.run_sync(read_record, path)
        if other:
            other = other.rpartition("/")[2]
            address = f"/episodes/{id_}/beside?with="
            led_on = await self._short_ids.answer(request, other, lambda found: address + found)
            return led_on or await self._both(request, record, other)
        neighbours, fault = await self._neighbours(record)
        return self._renderer.page(
            request,
            "neighbours",
            **self._about(record),
            neighbours=neighbours,
            fault=fault,
            has_gold=bool(self._gold(record)),
        )

    async def _neighbours(self, record: Record) -> tuple[Sequence[Neighbour], str]:
        """Find them; where the index cannot be read, gold calls and ids are of use all the same."""
        try:
            return await neighbours_of(record, self._parts, self._files), ""
        except RegistryError as error:
            return (), str(error)

    def _about(self, record: Record) -> dict[str, Any]:
        name = record.opened.source.get("name")
        return {
            "id": record.opened.id,
            "source": source_of(record),
            "name": name if isinstance(name, str) else None,
            "seed": record.opened.seed,
            "is_environment": record.opened.source.get("kind") == "environment",
        }

    async def _both(self, request: Request, record: Record, other: str) -> Response:
        begin = _number(request.query_params.get("from", "")) // _PAIRS * _PAIRS
        gold = self._gold(record) if other == GOLD else ()
        if other == GOLD and not gold:
            raise UnknownNameError("the question of this episode has no gold calls here")
        if other == record.opened.id:
            raise NotAvailableError("this is the same episode: name another one")
        path = None if gold else find_record(self._parts.records, other)
        players = await self._files.players([record.opened.id, other])

        def render() -> Response:
            left = self._side(record, players)
            right = (
                _gold_side(record, gold) if path is None else self._side(read_record(path), players)
            )
            return self._page(request, record, left, right, begin)

        return await anyio.to_thread.run_sync(render)

    def _page(
        self, request: Request, record: Record, left: _Side, right: _Side, begin: int
    ) -> Response:
        pairs, end = pairs_of(left.calls, right.calls), begin + _PAIRS
        address = f"/episodes/{record.opened.id}/beside?with={right.id or GOLD}&from=%d"
        return self._renderer.page(
            request,
            "beside",
            **self._about(record),
            sides=(left, right),
            rows=[(p, left.view(p.left), right.view(p.right)) for p in pairs[begin:end]],
            num_pairs=len(pairs),
            num_same=sum(pair.kind == "same" for pair in pairs),
            differences=differences_in(pairs),
            aligned_up_to=None if are_aligned(left.calls, right.calls) else MAX_ALIGNED,
            address=address,
            per_page=_PAIRS,
            begin=begin,
            before=address % (begin - _PAIRS) if begin else None,
            following=address % end if end < len(pairs) else None,
        )

    def _side(self, record: Record, players: Mapping[str, Player]) -> _Side:
        opened = record.opened
        player = players.get(opened.id)
        return _Side(
            id=opened.id,
            player=player_in(opened.labels) if player is None else player.shown,
            status=status_of(record, time_at(self._parts.home)),
            seed=opened.seed,
            reward=reward_of(record),
            num_calls=record.agent_calls,
            num_solved=len(record.solved),
            num_sub_tasks=len(opened.job),
            calls=record.calls,
        )

    def _gold(self, record: Record) -> Sequence[GoldCall]:
        """The gold calls of what was asked; none where it is no environment that is published now."""
        source = record.opened.source
        name, question = source.get("name"), source.get("question")
        if source.get("kind") != "environment" or not isinstance(name, str):
            return ()
        try:
            return self._parts.catalog.gold(name, question if isinstance(question, str) else None)
        except UnknownNameError:
            return ()


def _gold_side(record: Record, gold: Sequence[GoldCall]) -> _Side:
    return _Side(
        id=None,
        player="gold",
        status=None,
        seed=None,
        reward=None,
        num_calls=len(gold),
        num_solved=len({sub_task for call in gold for sub_task in call.solves}),
        num_sub_tasks=len(record.opened.job),
        calls=[
            CallRecord(
                n=place,
                call_id="",
                seq=None,
                shown=call.tool,
                tool=call.tool,
                arguments=call.arguments,
                solved=call.solves,
            )
            for place, call in enumerate(gold)
        ],
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
