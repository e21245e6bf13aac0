"""Members of a group that are helped: gold in the real episode, and hints that training never sees."""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from training.evaluation import sampler
from training.render import encode
from training.rl.core.playing import PolicyTrajectory
from training.signals.supervision.guidance import Help, help_of
from training.tiny.model import SMALLEST
from training.tiny.start import save_start

from small_gateway import SmallGateway, open_small_gateway
from trained_runs import TrainedRun, figures_in, told

pytestmark = pytest.mark.train


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return save_start(tmp_path_factory.mktemp("model") / "start", size=SMALLEST)


@pytest.fixture
async def harbour(tmp_path: Path) -> AsyncGenerator[SmallGateway]:
    async with open_small_gateway(tmp_path / "home") as opened:
        yield opened


class Watched(TrainedRun):
    """A run of which a test sees every episode."""

    def __init__(self, start: Path, harbour: SmallGateway) -> None:
        super().__init__(start, harbour)
        self.played: list[PolicyTrajectory] = []
        self.rewards = self._watch

    def _watch(self, number: int, played: Sequence[PolicyTrajectory]) -> list[float]:
        self.played += played
        return told(number, played)


async def test_exactly_k_members_play_gold_which_the_record_rewards(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    run = Watched(start, harbour)
    await run.train(tmp_path / "run", signals={"demonstrations": {"members": 1}})
    kinds = [help_of(one.trajectory) for one in run.played]
    assert kinds == [Help.GOLD, Help.NONE, Help.NONE, Help.NONE] * 2
    for one in run.played[::4]:
        record = one.trajectory.reward
        assert record is not None
        assert record.reward >= 0.999
        assert [m.role for m in one.trajectory.messages] == [
            "user",
            "assistant",
            "tool",
            "assistant",
        ]
        renderer, tokenizer = run.playground.renderer, run.playground.tokenizer
        whole = renderer.conversation(one.trajectory.messages, one.trajectory.tools)
        assert (one.ids, one.mask) == (
            encode(whole, tokenizer).ids,
            encode(whole, tokenizer).mask,
        )
    first, second = figures_in(tmp_path / "run")
    for line in (first, second):
        assert line["signals/gold/episodes"] == 1
        assert line["rollout/episodes"] == 3
        # In the first mini-batch the ratio is 1 for gold, too.
        assert line["drift"] == pytest.approx(0, abs=1e-5)
        assert line["gradient_norm"] > 0


async def test_a_hint_stands_in_what_is_sampled_and_in_nothing_that_is_trained(
    start: Path, harbour: SmallGateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "hints.jsonl"
    file.write_text('{"environment": "harbour", "text": "Look at the quay."}\n')
    shown: list[Sequence[Sequence[int]]] = []
    generate = sampler.ModelSampler.generate

    def watched(self: Any, contexts: Sequence[Sequence[int]], **options: Any) -> Any:
        shown.append(contexts)
        return generate(self, contexts, **options)

    monkeypatch.setattr(sampler.ModelSampler, "generate", watched)
    run = Watched(start, harbour)
    hints = {"members": 2, "source": "file", "file": file, "position": "user"}
    await run.train(tmp_path / "run", signals={"hints": hints})
    decode = run.playground.tokenizer.decode
    texts = [decode(context) for context in shown[0]]
    assert ["Look at the quay." in text for text in texts] == [True, True, False, False]
    kinds = [help_of(one.trajectory) for one in run.played[:4]]
    assert kinds == [Help.HINT, Help.HINT, Help.NONE, Help.NONE]
    for one in run.played:
        assert "Look at the quay." not in decode(one.ids)
        assert sum(one.mask) == sum(turn.end - turn.begin for turn in one.turns)
        assert decode(one.ids[: one.num_prompt]) == texts[2]
    for line in figures_in(tmp_path / "run"):
        assert line["signals/hint/episodes"] == 2
        assert line["drift"] == pytest.approx(0, abs=1e-5)


async def test_a_gold_turn_that_is_too_long_fails_its_episode_by_name(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    run = TrainedRun(start, harbour)
    with pytest.raises(Exception, match=r"a turn that is given has \d+ tokens, and may have 5"):
        await run.train(
            tmp_path / "run",
            signals={"demonstrations": {"members": 1}},
            limits={"turns": 3, "turn_tokens": 5},
        )
