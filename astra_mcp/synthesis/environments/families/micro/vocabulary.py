"""What one thing can be to another in a micro environment."""

from typing import NamedTuple

__all__ = ["RELATIONS", "Relation"]


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
    Relation("get_maker", ("maker", "制造者")),
    Relation("get_twin", ("twin", "双胞胎")),
    Relation("get_guide", ("guide", "向导")),
    Relation("get_rescuer", ("rescuer", "救援者")),
)
