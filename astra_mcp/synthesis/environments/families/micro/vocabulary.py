"""What one thing can be to another in a micro environment, how one gets on, and which things a question is about."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.brief import Brief

__all__ = ["NUM_ROWS", "RELATIONS", "WAYS", "Relation", "Way", "asked_of"]

T = TypeVar("T")

NUM_ROWS = 8
"""Rows of each table; as many questions are asked of one world."""


class Relation(NamedTuple):
    """What one thing is to another."""

    tool: str
    noun: tuple[str, str]
    """As a question calls it, in English and Chinese."""


RELATIONS = (
    Relation("get_owner", ("owner", "主人")),
    Relation("get_rival", ("rival", "对手")),
    Relation("get_teacher", ("teacher", "老师")),
    Relation("get_friend", ("best friend", "好友")),
    Relation("get_cook", ("cook", "厨师")),
    Relation("get_partner", ("partner", "搭档")),
    Relation("get_guard", ("guard", "守卫")),
    Relation("get_heir", ("heir", "继承人")),
    Relation("get_doctor", ("doctor", "医生")),
    Relation("get_twin", ("twin", "孪生兄弟")),
    Relation("get_guide", ("guide", "向导")),
    Relation("get_rescuer", ("rescuer", "救命恩人")),
)


class Way(NamedTuple):
    """How one gets from a place to another."""

    tool: str
    noun: tuple[str, str]
    """As a question calls it, in English and Chinese."""
    verb: str = "坐"
    """What one does with it in Chinese; in English one takes each."""


WAYS = (
    Way("take_ferry", ("ferry", "渡轮")),
    Way("take_train", ("train", "火车")),
    Way("take_bus", ("bus", "公交车")),
    Way("take_tram", ("tram", "电车")),
    Way("take_metro", ("metro", "地铁")),
    Way("take_shuttle", ("shuttle", "班车")),
    Way("take_cable_car", ("cable car", "缆车")),
    Way("take_path", ("path", "小路"), "走"),
    Way("take_bridge", ("bridge", "吊桥"), "走"),
    Way("take_tunnel", ("tunnel", "隧道"), "走"),
)


def asked_of(rows: Sequence[T], brief: Brief) -> list[T]:
    """The rows that this question is about, others on each turn.

    Raises:
        DrawError: All have had their turn.
    """
    if brief.turn >= len(rows):
        raise DrawError("a world of fixed size bears no more questions")
    order = brief.draw("asked").shuffled(rows)
    return [order[(brief.turn + at) % len(rows)] for at in range(brief.layout.subjects)]
