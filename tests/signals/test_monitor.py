"""The figures of a step's turns, and what is asked of a policy behind the start of a call."""

import pytest

from training.render import DIALECTS, Renderer
from training.signals.health.monitor import NUM_TURNS, structure_figures
from training.signals.health.probes import MOST_CONTEXTS, CallProbe
from training.signals.health.structure import Classifier, Structure

from own_templates import make_renderer
from scripted_policy import END, CharacterTokenizer, tiny_renderer

HERMES = Classifier(DIALECTS["hermes"])
CALL = '<tool_call>{"name": "a", "arguments": {}}</tool_call>'
TOKENIZER = CharacterTokenizer()


def seen(*texts: str) -> list[Structure]:
    return [HERMES.of_ids(TOKENIZER.encode(text), TOKENIZER) for text in texts]


def test_states_are_shares_of_turns_of_trajectories_and_by_turn() -> None:
    episodes = [
        seen(f"{CALL}{END}", f"Four.{END}"),
        seen(f"{CALL}{END}", "cut"),
        seen(END),
        seen(f"<tool_call>{END}", END),
        [],
    ]
    found = structure_figures(episodes, HERMES)
    by_name = {name.removeprefix("structure/"): value for name, value in found.items()}
    expected = {
        "healthy_tool_call": 2 / 7,
        "healthy_response": 1 / 7,
        "text_polluted": 1 / 7,
        "collapsed": 3 / 7,
        "trajectories/polluted": 1 / 4,
        "trajectories/collapsed": 2 / 4,
        "turn/0/healthy_tool_call": 2 / 4,
        "turn/0/collapsed": 2 / 4,
        "turn/1/healthy_response": 1 / 3,
        "turn/1/text_polluted": 1 / 3,
        "reasons/no_end": 1,
        "reasons/empty": 2,
        "reasons/only_tags": 1,
    }
    assert {name: by_name[name] for name in expected} == pytest.approx(expected)
    assert "reasons/bad_json" not in by_name


def test_control_tokens_are_counted_by_1000_tokens() -> None:
    turns = seen(f"<tool_call>{END}", f"{'a' * 976}{END}")
    found = structure_figures([turns], HERMES)
    num_tokens = len("<tool_call>") + 976 + 2
    assert found["structure/per_1k/<tool_call>"] == pytest.approx(1000 / num_tokens)
    assert found["structure/per_1k/<|im_end|>"] == pytest.approx(2000 / num_tokens)
    assert found["structure/per_1k/</tool_call>"] == 0
    assert "structure/per_1k/<think>" not in found


def test_late_turns_share_their_figures_and_no_turn_has_none() -> None:
    long = seen(*[f"a{END}"] * NUM_TURNS, END, f"a{END}")
    found = structure_figures([long], HERMES)
    assert found["structure/turn/later/collapsed"] == 0.5
    assert f"structure/turn/{NUM_TURNS}/collapsed" not in found
    assert structure_figures([[], []], HERMES) == {}


@pytest.mark.parametrize(
    ("renderer", "suffix", "first"),
    [
        (tiny_renderer(), "<tool_call>\n", "{"),
        (make_renderer("llama"), "", "{"),
        (make_renderer("mistral"), "[TOOL_CALLS]", "["),
    ],
)
def test_a_probe_stands_right_behind_the_start_of_a_call(
    renderer: Renderer, suffix: str, first: str
) -> None:
    probe = CallProbe.of(renderer, TOKENIZER)
    assert probe is not None
    assert TOKENIZER.decode(probe.suffix) == suffix
    tokens = dict(probe.tokens)
    assert TOKENIZER.decode([tokens["json"]]) == first
    assert tokens["end"] == TOKENIZER.encode(renderer.end)[0]
    assert renderer.dialect.tags.opening.startswith(TOKENIZER.decode([tokens["start"]]))


def test_a_probe_looks_at_a_few_different_prompts_and_takes_means() -> None:
    probe = CallProbe.of(tiny_renderer(), TOKENIZER)
    assert probe is not None
    contexts = probe.contexts([(5,), (6,), (5,), *((n,) for n in range(7, 40))])
    assert [context[0] for context in contexts] == [5, 6, *range(7, 7 + MOST_CONTEXTS - 2)]
    assert contexts[0] == (5, *probe.suffix)
    assert probe.figures([(0.9, 0.1, 0.0), (0.7, 0.2, 0.1)]) == pytest.approx(
        {"probe/json": 0.8, "probe/end": 0.15, "probe/start": 0.05}
    )
    assert probe.figures([]) == {}
