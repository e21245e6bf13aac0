"""What a model is shown and what it writes by its own chat template: text, masks, tokens, differences."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from astra_mcp.errors import ConfigError
from astra_mcp.report.console import out
from astra_mcp.report.shown import styled
from astra_mcp.trajectory import (
    AssistantMessage,
    FunctionCall,
    Message,
    ToolCall,
    ToolMessage,
    UserMessage,
    read_trajectories,
)
from astra_mcp.types import JsonObject, ToolSpec
from training.render import (
    Difference,
    Renderer,
    RenderError,
    ThinkingPolicy,
    Tokenizer,
    compare,
    encode,
    load_tokenizer,
    sampling_difference,
    served_difference,
)

__all__ = ["TemplateView", "print_view", "view_template"]

_MODEL, _CONTEXT = "model", "     "


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateView:
    """One conversation as a model's template has it."""

    model: str
    source: str
    """Of the conversation, for people."""
    dialect: str
    thinking: str
    end: str
    segments: tuple[tuple[str, bool], ...]
    """Texts, and whether each is the model's."""
    model_tokens: int
    context_tokens: int
    warnings: tuple[str, ...]

    def as_json(self) -> JsonObject:
        """Give it for programs."""
        row: JsonObject = asdict(self)
        row["segments"] = [{"text": text, "is_model": is_model} for text, is_model in self.segments]
        return row


def view_template(
    model: str, *, file: Path | None, number: int, thinking: ThinkingPolicy
) -> TemplateView:
    """Render a trajectory, or a short conversation of our own.

    Args:
        model: A folder, or a name on the hub.
        file: Of trajectories; None for our own.
        number: Of the trajectory in the file, from 1.
        thinking: What becomes of thoughts.

    Raises:
        ConfigError: The model has no usable template or tokenizer, or there is no such trajectory.
        RenderError: The conversation cannot be rendered.
    """
    if file is not None and file.suffix == ".parquet":
        raise ConfigError(
            f"{file}: --file takes trajectories as a rollout writes them (JSON lines), no Parquet"
        )
    if model == "tiny" and not Path(model).is_dir():
        raise ConfigError(
            "tiny is no folder: `astra-mcp train sft --preset tiny` makes this model on the spot; name a"
            " folder with its weights, such as runs/first/weights/step-00000040"
        )
    tokenizer, renderer = load_tokenizer(model, thinking=thinking)
    source = "an example" if file is None else f"{file}, trajectory {number}"
    messages, tools = _EXAMPLE if file is None else _read(file, number)
    try:
        rendered = renderer.conversation(messages, tools)
        warnings = tuple(_warnings(renderer, tokenizer, messages, tools))
    except RenderError as error:
        raise RenderError(f"{source}: {error}") from None
    tokens = encode(rendered, tokenizer)
    return TemplateView(
        model=model,
        source=source,
        dialect=renderer.dialect.name,
        thinking=renderer.thinking.value,
        end=renderer.end,
        segments=tuple((segment.text, segment.is_model) for segment in rendered.segments),
        model_tokens=sum(tokens.mask),
        context_tokens=len(tokens.mask) - sum(tokens.mask),
        warnings=warnings,
    )


def print_view(view: TemplateView) -> None:
    """Show it: the model's lines are coloured, and marked at their beginning for those who see no colour.

    A line of the text may have several authors; what goes on with another one begins a new line with ``+``.
    """
    out.print(
        styled(
            ("dialect ", "dim"),
            view.dialect,
            ("  thinking ", "dim"),
            view.thinking,
            ("  end of a turn ", "dim"),
            view.end,
        )
    )
    out.print(
        styled((f"{view.source}; {_MODEL} | is the model's, + goes on in the line above", "dim"))
    )
    is_new_line = True
    for text, is_model in view.segments:
        *whole, last = text.split("\n")
        for line in [*whole, *([last] if last else [])]:
            mark = f"{_MODEL if is_model else _CONTEXT} {'|' if is_new_line else '+'} "
            out.print(styled((mark, "dim"), (line, "bold green") if is_model else line))
            is_new_line = True
        is_new_line = not last
    out.print(f"tokens: {view.model_tokens} of the model, {view.context_tokens} of its context")
    for warning in view.warnings:
        out.print(styled(("warning: ", "yellow"), warning))


def _read(file: Path, number: int) -> tuple[Sequence[Message], Sequence[JsonObject]]:
    found = next(islice(read_trajectories(file), number - 1, None), None)
    if found is None:
        raise ConfigError(f"{file} has no trajectory {number}: --number counts from 1")
    return found.messages, found.tools


def _warnings(
    renderer: Renderer,
    tokenizer: Tokenizer,
    messages: Sequence[Message],
    tools: Sequence[JsonObject],
) -> Iterator[str]:
    rendered = renderer.conversation(messages, tools)
    told = sampling_difference(renderer, messages, tools)
    if told is not None:
        yield f"sampling sees another text than training has: {_named(told, tokenizer, 'training')}"
    try:
        served = served_difference(renderer, messages, tools)
    except RenderError as error:
        yield f"a server that renders every request anew could not show this conversation: {error}"
    else:
        if served is not None:
            yield (
                "a server that renders every request anew shows another text than was sampled "
                f"(train an instance for each turn for such a one): {_named(served, tokenizer, 'the server')}"
            )
    ids = encode(rendered, tokenizer).ids
    whole = compare(ids, tokenizer.encode(rendered.text), tokenizer)
    if whole is not None:
        told_whole = whole.told("sampling", "the whole text")
        yield f"a program that makes tokens of the whole text at once gets others: {told_whole}"
    if tokenizer.decode(ids) != rendered.text:
        yield "the tokenizer does not give the text back that it was given"
    yield from _warnings_of_messages(renderer, messages)
    parts = [(f"messages.{place}", m.model_dump()) for place, m in enumerate(messages)]
    for place, value in [*parts, *((f"tools.{n}", tool) for n, tool in enumerate(tools))]:
        for spelling in renderer.controls.found(value):
            yield f"{place} spells {spelling}: it is encoded as plain text, not as the control token"


def _warnings_of_messages(renderer: Renderer, messages: Sequence[Message]) -> Iterator[str]:
    thoughts = sum(isinstance(m, AssistantMessage) and bool(m.reasoning_content) for m in messages)
    if thoughts and renderer.thinking is not ThinkingPolicy.ON:
        yield f"the thoughts of {thoughts} turns are left out, as the policy {renderer.thinking} says"


def _named(difference: Difference, tokenizer: Tokenizer, other: str) -> str:
    """Name the first token that differs."""
    sampled = encode(difference.sampled, tokenizer)
    mismatch = compare(sampled.ids, encode(difference.other, tokenizer).ids, tokenizer)
    told = "the tokens are the same" if mismatch is None else mismatch.told("sampling", other)
    return f"messages.{difference.message}: {told}"


_EXAMPLE: tuple[Sequence[Message], Sequence[JsonObject]] = (
    (
        UserMessage(content="Is the museum in 北京 open on Monday?"),
        AssistantMessage(
            tool_calls=(
                ToolCall(
                    id="example01",
                    function=FunctionCall(name="opening_hours", arguments='{"place": "museum"}'),
                ),
            )
        ),
        ToolMessage(tool_call_id="example01", content='{"monday": "closed"}'),
        AssistantMessage(content="No, it is closed on Mondays."),
        UserMessage(content="Thank you."),
        AssistantMessage(content="You are welcome."),
    ),
    (
        ToolSpec(
            name="opening_hours",
            description="Say when a place is open.",
            input_schema={
                "type": "object",
                "properties": {"place": {"type": "string"}},
                "required": ["place"],
            },
        ).as_openai(),
    ),
)
