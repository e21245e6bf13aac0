"""A tool that looks a name up in a table of its own, and questions that follow names through several tables."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from astra_mcp.synthesis.environments.families.draft import Draft, key

__all__ = ["Table", "follow"]


@dataclass(frozen=True, slots=True)
class Table:
    """What a tool of one argument, ``name``, looks up."""

    tool: str
    rows: Mapping[str, str]
    asked: Callable[[str], str]
    """Words the question that one name of the table answers."""

    def add_to(self, draft: Draft, description: str, field: str, refusal: str) -> None:
        """Add the data and the tool.

        Args:
            draft: Of the bundle.
            description: For the agent.
            field: Under which the result stands.
            refusal: What is said of a name that is not there; ``{name}`` stands for it.
        """
        constant = self.tool.upper()
        draft.data(constant, {**self.rows})
        draft.tool(
            self.tool,
            description,
            {"name": {"type": "string"}},
            f"""
            if name not in {constant}:
                raise ValueError(f"{refusal}")
            return {{"{field}": {constant}[name]}}
            """,
        )

    def show(self, draft: Draft) -> None:
        """Add calls of the tool for a question that needs none of it."""
        for name in [*self.rows][:2]:
            draft.example(self.tool, name=name)


def follow(draft: Draft, name: str, tables: Iterable[Table]) -> str:
    """Add a sub-task for each table, which asks for what the one before it gave; gives the last answer."""
    needs = tuple[int, ...]()
    for table in tables:
        arguments = {"name": key(name, [other for other in table.rows if other != name])}
        question, name = table.asked(name), table.rows[name]
        needs = (draft.solve(question, name, table.tool, arguments, needs=needs),)
    return name
