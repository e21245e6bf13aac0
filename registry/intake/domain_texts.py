"""What each domain is about, in words of English and Chinese."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, TypeAdapter

from astra_mcp.domains import Domain

__all__ = ["DomainText", "domain_texts"]


class DomainText(BaseModel):
    """How a domain is described."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    summary: str
    """What belongs to it, in one line."""
    english: str
    """Words that servers of the domain use."""
    chinese: str

    @property
    def terms(self) -> str:
        """The words of both languages, for comparing a server with them."""
        return f"{self.english} {self.chinese}"


@cache
def domain_texts() -> Mapping[Domain, DomainText]:
    """Read the descriptions that lie beside this module."""
    written = files("registry.intake").joinpath("domain_texts.toml").read_text(encoding="utf-8")
    return TypeAdapter(dict[Domain, DomainText]).validate_python(tomllib.loads(written))
