"""With real tokenizers, masks cover exactly what the model wrote, and sampling finds the same tokens."""

import json
from pathlib import Path
from random import Random

import pytest

from astra_mcp.trajectory import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from astra_mcp.types import JsonObject, JsonValue
from training.render import (
    ParsedCall,
    ParsedTurn,
    Rendered,
    Renderer,
    RenderError,
    Segment,
    ThinkingPolicy,
    Tokenizer,
    Tokens,
    compare,
    encode,
    load_tokenizer,
)
from training.render.dialects.calls import normal_arguments

from golden_chats import GOLDEN_CHATS
from model_folders import save_folder
from own_templates import SPECIAL_TOKENS, assistant, template_source

pytestmark = pytest.mark.train

TOOLS: list[JsonObject] = [*GOLDEN_CHATS["tools"].tools]
PIECES = [
    "museum", " ", "\n", "\n\n", "北京", "🌦", "e\u0301", '"', "{", "}", "<|im_start|>", "closed.", "<", "\\",
    "<tool_response>", "assistant", "\t", "é", "0",
]  # fmt: skip
LOADED = tuple[Tokenizer, Renderer]
POLICIES = [ThinkingPolicy.NATIVE_OFF, ThinkingPolicy.ON]


def words(random: Random) -> str:
    return "".join(random.choices(PIECES, k=random.randrange(6)))


def value(random: Random, depth: int = 2) -> JsonValue:
    kind = random.randrange(6 if depth else 4)
    if kind == 4:
        return [value(random, depth - 1) for _ in range(random.randrange(3))]
    if kind == 5:
        return {words(random): value(random, depth - 1) for _ in range(random.randrange(3))}
    return [words(random), random.randrange(-99, 99), random.random(), None][kind]


def trajectory(random: Random) -> list[Message]:
    """Users, turns of words, thoughts and calls, results."""
    messages: list[Message] = [SystemMessage(content=words(random))] * random.randrange(2)
    for _ in range(random.randrange(1, 3)):
        messages.append(UserMessage(content=words(random)))
        for _ in range(random.randrange(3)):
            calls = tuple(
                ParsedCall(f"f{words(random)}", json.dumps({words(random): value(random)}))
                for _ in range(random.randrange(1, 3))
            )
            turn = ParsedTurn(words(random), words(random), calls)
            messages.append(assistant(turn, prefix=f"call{len(messages)}"))
            last = messages[-1]
            assert isinstance(last, AssistantMessage)
            messages += [
                ToolMessage(tool_call_id=call.id, content=words(random)) for call in last.tool_calls
            ]
        messages.append(assistant(ParsedTurn(words(random), words(random))))
    return messages


def played(renderer: Renderer, tokenizer: Tokenizer, messages: list[Message]) -> Tokens:
    """What a sampler has that appends: the prompt's tokens, its own, those of what follows, and so on."""
    ids: list[int] = []
    mask: list[bool] = []

    def take(rendered: Rendered) -> None:
        found = encode(rendered, tokenizer)
        ids.extend(found.ids)
        mask.extend(found.mask)

    places = [i for i, m in enumerate(messages) if isinstance(m, AssistantMessage)]
    last = Rendered((Segment(renderer.sampling_only, is_model=False),))
    take(renderer.shown(messages[: places[0]], TOOLS))
    take(last)
    for place, following in zip(places, [*places[1:], None], strict=True):
        message = messages[place]
        assert isinstance(message, AssistantMessage)
        take(Rendered((renderer.conversation(messages[: place + 1], TOOLS).segments[-1],)))
        if following is not None:
            new = messages[place + 1 : following]
            take(renderer.shown_after(messages[: place + 1], new))
            take(last)
    return Tokens(tuple(ids), tuple(mask))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """Models by whether their tokens reach across lines."""
    place = tmp_path_factory.mktemp("models")
    return {joins: save_folder(place / f"{joins}", joins_lines=joins) for joins in (True, False)}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("joins_lines", [False, True])
def test_masks_cover_exactly_the_models_tokens_in_250_trajectories_each(
    folders: dict[bool, Path], joins_lines: bool, policy: ThinkingPolicy
) -> None:
    tokenizer, renderer = load_tokenizer(str(folders[joins_lines]), thinking=policy)
    random = Random(f"{policy} {joins_lines}")  # noqa: S311
    num_joined = 0
    for _ in range(250):
        messages = trajectory(random)
        rendered = renderer.conversation(messages, TOOLS)
        tokens = encode(rendered, tokenizer)
        marked = [id for id, is_model in zip(tokens.ids, tokens.mask, strict=True) if is_model]
        turns = [renderer.turn(m) for m in messages if isinstance(m, AssistantMessage)]
        assert tokenizer.decode(marked) == "".join(turns)
        assert tokenizer.decode(tokens.ids) == rendered.text
        assert compare(played(renderer, tokenizer, messages), tokens, tokenizer) is None
        num_joined += compare(tokenizer.encode(rendered.text), tokens, tokenizer) is not None
    assert num_joined > 0 or not joins_lines, "whole texts have the same tokens: nothing is shown"


def test_a_turn_of_random_words_is_read_back(folders: dict[bool, Path]) -> None:
    _, renderer = load_tokenizer(str(folders[False]), thinking=ThinkingPolicy.ON)
    random = Random("read back")  # noqa: S311
    for message in (m for _ in range(100) for m in trajectory(random)):
        if isinstance(message, AssistantMessage):
            read = renderer.parse(renderer.turn(message))
            assert read.content == message.content
            assert (read.reasoning or "") == message.reasoning_content
            assert [(c.name, c.arguments) for c in read.calls] == [
                (c.function.name, normal_arguments(c.function.arguments))
                for c in message.tool_calls
            ]


def test_a_policy_of_sampling_alone_is_told_by_the_first_token(folders: dict[bool, Path]) -> None:
    policy = ThinkingPolicy.OFF_SAMPLING_ONLY
    tokenizer, renderer = load_tokenizer(str(folders[False]), thinking=policy)
    messages: list[Message] = [UserMessage(content="Is it?"), assistant(ParsedTurn("No."))]
    trained = encode(renderer.conversation(messages, TOOLS), tokenizer)
    mismatch = compare(played(renderer, tokenizer, messages), trained, tokenizer)
    assert mismatch is not None
    assert mismatch.index == len(tokenizer.encode(renderer.prompt(messages[:1], TOOLS))) - len(
        tokenizer.encode(renderer.sampling_only)
    )
    assert mismatch.before.endswith("assistant\n")
    assert (mismatch.sampled_text[0], mismatch.trained_text[0]) == ("<", "N")


def test_llama_and_mistral_mask_alike(tmp_path: Path) -> None:
    for name in ("llama", "mistral"):
        folder = save_folder(tmp_path / name, template_source(name), SPECIAL_TOKENS[name])
        tokenizer, renderer = load_tokenizer(str(folder))
        num_carried = 0
        for chat in GOLDEN_CHATS.values():
            messages = list(chat.messages)
            try:
                rendered = renderer.conversation(messages, TOOLS)
            except RenderError:
                continue
            num_carried += 1
            tokens = encode(rendered, tokenizer)
            assert compare(played(renderer, tokenizer, messages), tokens, tokenizer) is None
        assert num_carried >= 9, name
