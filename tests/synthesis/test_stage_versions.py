"""A changed prompt, or another judge's, makes the outcomes of exactly its stages be computed anew."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any
from unittest.mock import patch

import pytest

from astra_mcp.llm.prompt import PromptTemplate, load_prompt
from astra_mcp.pipeline.attempt import Stage
from astra_mcp.synthesis import asking
from astra_mcp.synthesis.environments.building.accepting import Accepting
from astra_mcp.synthesis.environments.building.attacking import Attacking
from astra_mcp.synthesis.environments.building.making_tools import ToolSynthesis
from astra_mcp.synthesis.environments.building.merging import Merging
from astra_mcp.synthesis.environments.building.tool import BuildAttempts
from astra_mcp.synthesis.environments.questions.decomposition import Decomposition
from astra_mcp.synthesis.environments.questions.necessity import ToolNecessity
from astra_mcp.synthesis.environments.questions.quality import QualityJudge
from astra_mcp.synthesis.environments.questions.topology import Wanted

PROMPTS_OF_STAGES = {
    "decompose": {"decompose"},
    "necessity": {"necessity"},
    "quality": {"dependencies", "atomicity", "sequence", "completeness", "derivation"},
    "build": {"tool_document", "scaling", "call", "implementation"},
    "merge": {"groups", "insertion"},
    "accept": {"repair"},
    "attack": {"repair", "attack"},
}


def stages() -> Mapping[str, Stage[Any, Any]]:
    """All that ask a model by a prompt of this package; none is run."""
    model: Any = None
    attempts = BuildAttempts()
    accepting = Accepting(model, "m", model, model, "1", attempts)
    found: list[Stage[Any, Any]] = [
        Decomposition(model, "m", "m", Wanted(), 1),
        ToolNecessity(model, "m"),
        QualityJudge(model, "m", 0.85, 1),
        ToolSynthesis(model, "m", model, attempts),
        Merging(model, "m", model, 0),
        accepting,
        Attacking(model, "m", model, accepting, 3),
    ]
    return {stage.name: stage for stage in found}


def versions(changed: str) -> dict[str, str]:
    """Of all stages, where one prompt has another text."""

    def load(package: str, name: str) -> PromptTemplate:
        found = load_prompt(package, name)
        return PromptTemplate(name, CHANGED) if name == changed else found

    with patch.object(asking, "load_prompt", load):
        return {name: stage.version for name, stage in stages().items()}


CHANGED = "{% block user %}Something else.{% endblock %}"


@pytest.mark.parametrize("prompt", sorted(set[str]().union(*PROMPTS_OF_STAGES.values())))
def test_a_changed_prompt_changes_the_version_of_its_stages_alone(prompt: str) -> None:
    before, after = versions(""), versions(prompt)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {name for name, prompts in PROMPTS_OF_STAGES.items() if prompt in prompts}


def test_each_prompt_belongs_to_a_stage() -> None:
    folder = files("astra_mcp.synthesis.environments.prompts")
    names = {file.name.removesuffix(".jinja") for file in folder.iterdir() if ".jinja" in file.name}
    assert names == set[str]().union(*PROMPTS_OF_STAGES.values())
