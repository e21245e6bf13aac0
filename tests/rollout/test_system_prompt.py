"""``--system-prompt``: a text or a file, first in what the model is sent and in the trajectory."""

from pathlib import Path

import pytest

from astra_mcp.cli.rollout.episode_sources import read_system_prompt
from astra_mcp.errors import ConfigError
from gateway.api.wire import SourceServers
from training.rollout.plan import plan_rollouts


def test_every_episode_of_a_run_has_them_and_the_seeds_stay() -> None:
    source = SourceServers(kind="servers", names=("desk",), prompt="Go.")
    plain = plan_rollouts([(source, None)], num_episodes=2, root_seed=0)
    told = plan_rollouts([(source, None)], num_episodes=2, root_seed=0, system_prompt="Be brief.")
    assert [rollout.system_prompt for rollout in told] == ["Be brief."] * 2
    assert [r.request for r in told] == [r.request for r in plain]


def test_a_text_is_taken_as_it_is_and_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("Sei kurz.\n\nUnd höflich.\n", encoding="utf-8")
    assert read_system_prompt(None) is None
    assert read_system_prompt(" Be brief.") == " Be brief."
    assert read_system_prompt(f"@{file}") == "Sei kurz.\n\nUnd höflich.\n"


@pytest.mark.parametrize(
    ("given", "words"), [(" ", "empty"), ("@none.txt", "none.txt cannot be read"), ("@/", "read")]
)
def test_what_says_nothing_is_refused(given: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_system_prompt(given)
