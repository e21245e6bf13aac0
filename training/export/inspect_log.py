"""Trajectories as a log of Inspect, whose viewer then shows each as a transcript with its score.

Inspect is loaded for this alone: an extra. Its Python API is what it keeps stable, not the file; so the file
is written by it, and then packed anew with nothing of the time and the machine in it.
"""

import importlib
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, cast

from astra_mcp import __version__
from astra_mcp.errors import ConfigError
from astra_mcp.text.strict_json import parse_strict
from astra_mcp.trajectory import (
    AssistantMessage,
    CallNote,
    Message,
    StopReason,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
)
from astra_mcp.trajectory.line import instant_text
from astra_mcp.types import JsonObject, canonical_json
from training.export.selection import source_names
from training.export.sft_rows import facts_of

__all__ = ["write_inspect_log"]

_SCORER = "f1"
_NO_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest that an archive can state."""


def write_inspect_log(trajectories: Iterable[Trajectory], file: Path) -> None:
    """Write a log with one sample for each trajectory.

    A sample's id is what was played, its epoch counts the samples of one id. A trajectory knows when it began
    and nothing else of time, so all events stand at that. All samples are in memory at once.

    Args:
        trajectories: In order.
        file: To write; its folder takes a draft beside it.

    Raises:
        ConfigError: Inspect is missing.
    """
    writer = _Writer(_load_inspect())
    samples: list[Any] = []
    rewards: list[float] = []
    agents: dict[str, None] = {}
    epochs: Counter[str] = Counter()
    instants: list[datetime] = []
    for trajectory in trajectories:
        name = _sample_id(trajectory)
        epochs[name] += 1
        samples.append(writer.sample(trajectory, name, epochs[name]))
        instants.append(_began(trajectory))
        agents[_player(trajectory)] = None
        if trajectory.reward is not None:
            rewards.append(trajectory.reward.reward)
    log = writer.log(samples, rewards, agents=[*agents], instants=instants, epochs=epochs)
    draft = file.with_name(f"draft-{file.name}")
    writer.inspect.log.write_eval_log(log, draft)
    _pack(draft, file)


class _Inspect(NamedTuple):
    """The modules of Inspect that are used."""

    log: ModuleType
    model: ModuleType
    tool: ModuleType
    event: ModuleType
    scorer: ModuleType


def _load_inspect() -> _Inspect:
    try:
        return _Inspect(*(importlib.import_module(f"inspect_ai.{n}") for n in _Inspect._fields))
    except ImportError as error:
        msg = f"a log of Inspect needs Inspect ({error}): install astra-mcp[inspect]"
        raise ConfigError(msg) from None


class _Writer:
    """Makes Inspect's values; ids follow from what they name, so equal trajectories give equal logs."""

    def __init__(self, inspect: _Inspect) -> None:
        self.inspect = inspect

    def log(
        self,
        samples: Sequence[Any],
        rewards: Sequence[float],
        *,
        agents: Sequence[str],
        instants: Sequence[datetime],
        epochs: Counter[str],
    ) -> Any:
        """Make the log of samples."""
        api = self.inspect.log
        identity = _identity(*(sample.uuid for sample in samples))
        first, last = instant_text(min(instants)), instant_text(max(instants))
        failed = sum(sample.error is not None for sample in samples)
        metrics: dict[str, Any] = {}
        if rewards:
            mean = sum(rewards) / len(rewards)
            metrics["mean"] = api.EvalMetric(name="mean", value=mean)
        scored, unscored = len(rewards), len(samples) - len(rewards)
        score = api.EvalScore(
            name=_SCORER,
            scorer=_SCORER,
            scored_samples=scored,
            unscored_samples=unscored,
            metrics=metrics,
        )
        names = [*epochs]
        return api.EvalLog(
            status="success",
            eval=api.EvalSpec(
                eval_id=identity,
                run_id=identity,
                task_id=identity,
                created=first,
                task="astra-mcp/rollout",
                dataset=api.EvalDataset(name="rollout", samples=len(names), sample_ids=names),
                model=agents[0] if len(agents) == 1 else "several",
                config=api.EvalConfig(epochs=max(epochs.values())),
                packages={"astra-mcp": __version__},
                metadata={"agents": [*agents]},
            ),
            results=api.EvalResults(
                total_samples=len(samples), completed_samples=len(samples) - failed, scores=[score]
            ),
            stats=api.EvalStats(started_at=first, completed_at=last),
            samples=[*samples],
        )

    def sample(self, trajectory: Trajectory, name: str, epoch: int) -> Any:
        """Make the sample of a trajectory."""
        api, reward, failure = self.inspect, trajectory.reward, trajectory.failure
        identity = _identity(name, epoch, trajectory.episode_id)
        messages = [*self._messages(trajectory, identity)]
        begin = next((i for i, m in enumerate(messages) if m.role in {"assistant", "tool"}), None)
        answers = [m for m in messages if m.role == "assistant"]
        player = _player(trajectory)
        output = self._output(player, answers[-1], _ending(trajectory)) if answers else None
        facts = facts_of(trajectory)
        return api.log.EvalSample(
            id=name,
            epoch=epoch,
            uuid=identity,
            input=messages[:begin],
            target="",
            messages=messages,
            output=output or api.model.ModelOutput(model=player),
            scores={_SCORER: self._score(reward.reward, reward.model_dump())} if reward else None,
            metadata=facts,
            events=[*self._events(trajectory, messages, identity)],
            error=self._error(f"{failure.boundary}: {failure.message}") if failure else None,
            started_at=instant_text(_began(trajectory)),
        )

    def _score(self, value: float, parts: JsonObject) -> Any:
        return self.inspect.scorer.Score(value=value, metadata=parts)

    def _error(self, message: str) -> Any:
        return self.inspect.log.EvalError(message=message, traceback="", traceback_ansi=message)

    def _messages(self, trajectory: Trajectory, identity: str) -> Iterator[Any]:
        notes = {note.tool_call_id: note for note in trajectory.calls}
        called = {c.id: c.function.name for m in trajectory.messages for c in _calls_of(m)}
        for index, message in enumerate(trajectory.messages):
            yield self._message(message, f"{identity}-{index}", notes, called)

    def _message(
        self, message: Message, name: str, notes: dict[str, CallNote], called: dict[str, str]
    ) -> Any:
        model = self.inspect.model
        match message:
            case SystemMessage():
                return model.ChatMessageSystem(id=name, content=message.content)
            case UserMessage():
                return model.ChatMessageUser(id=name, content=message.content)
            case ToolMessage():
                return model.ChatMessageTool(
                    id=name,
                    content=message.content,
                    tool_call_id=message.tool_call_id,
                    function=called[message.tool_call_id],
                    error=self._tool_error(notes[message.tool_call_id], message.content),
                )
            case AssistantMessage():
                content: Any = message.content or ""
                if message.reasoning_content:
                    reasoning = model.ContentReasoning(reasoning=message.reasoning_content)
                    content = [reasoning, model.ContentText(text=content)]
                calls = [self._call(call) for call in message.tool_calls]
                return model.ChatMessageAssistant(
                    id=name, content=content, tool_calls=calls or None
                )

    def _call(self, call: ToolCall) -> Any:
        arguments, fault = _arguments(call.function.arguments)
        return self.inspect.tool.ToolCall(
            id=call.id, function=call.function.name, arguments=arguments, parse_error=fault
        )

    def _tool_error(self, note: CallNote, content: str) -> Any:
        if not note.is_error:
            return None
        kind = "timeout" if note.injected == "timeout" else "unknown"
        return self.inspect.tool.ToolCallError(kind, content)

    def _events(
        self, trajectory: Trajectory, messages: Sequence[Any], identity: str
    ) -> Iterator[Any]:
        """Make an event of each message of the agent and each answered call, which the viewer shows."""
        event, player = self.inspect.event, _player(trajectory)
        tools = [self._tool(tool) for tool in trajectory.tools]
        made: dict[str, Any] = {}
        for index, message in enumerate(messages):
            common: dict[str, Any] = {
                "uuid": f"{identity}-{index}",
                "timestamp": _began(trajectory),
                "working_start": 0.0,
            }
            if message.role == "assistant":
                made |= {call.id: call for call in message.tool_calls or ()}
                is_last = not any(m.role == "assistant" for m in messages[index + 1 :])
                stop = _ending(trajectory) if is_last else "tool_calls"
                yield event.ModelEvent(
                    **common,
                    model=player,
                    input=[*messages[:index]],
                    tools=tools,
                    tool_choice="auto",
                    config=self.inspect.model.GenerateConfig(),
                    output=self._output(player, message, stop),
                )
            elif message.role == "tool":
                call = made[message.tool_call_id]
                yield event.ToolEvent(
                    **common,
                    id=call.id,
                    function=call.function,
                    arguments=call.arguments,
                    result=message.content,
                    error=message.error,
                )

    def _output(self, player: str, message: Any, stop: str) -> Any:
        choice = self.inspect.model.ChatCompletionChoice(message=message, stop_reason=stop)
        return self.inspect.model.ModelOutput(model=player, choices=[choice])

    def _tool(self, document: JsonObject) -> Any:
        """Make Inspect's description of a tool; a schema that it cannot hold stands whole in the options."""
        function = cast("JsonObject", document.get("function") or {})
        schema = function.get("parameters") or {}
        named = {
            "name": str(function.get("name", "")),
            "description": str(function.get("description", "")),
        }
        tool_info, tool_params = self.inspect.tool.ToolInfo, self.inspect.tool.ToolParams
        try:
            parameters = tool_params.model_validate(schema)
        except ValueError:
            parameters = tool_params()
        if parameters.model_dump(exclude_unset=True) == schema:
            return tool_info(**named, parameters=parameters)
        return tool_info(**named, parameters=parameters, options={"parameters": schema})


def _identity(*parts: object) -> str:
    return sha256(canonical_json(parts)).hexdigest()[:22]


def _began(trajectory: Trajectory) -> datetime:
    """Say when it began; a time without a zone is one of UTC."""
    began = trajectory.created_at
    return began.astimezone(UTC) if began.tzinfo else began.replace(tzinfo=UTC)


def _sample_id(trajectory: Trajectory) -> str:
    named = "+".join(source_names(trajectory)) or str(trajectory.source.get("kind"))
    return named if trajectory.question is None else f"{named}:{trajectory.question}"


def _player(trajectory: Trajectory) -> str:
    return trajectory.agent.model or trajectory.agent.name


def _ending(trajectory: Trajectory) -> str:
    """Say in Inspect's words why the last message of the agent ended."""
    last = trajectory.messages[-1]
    if isinstance(last, ToolMessage) or _calls_of(last):
        return "tool_calls"
    if trajectory.stop is StopReason.ANSWER:
        return "stop"
    return "max_tokens" if trajectory.stop is StopReason.LENGTH else "unknown"


def _calls_of(message: Message) -> Sequence[ToolCall]:
    return message.tool_calls if isinstance(message, AssistantMessage) else ()


def _arguments(text: str) -> tuple[JsonObject, str | None]:
    """Parse what the agent wrote; what is no JSON object is kept in the words of the fault."""
    try:
        arguments = parse_strict(text)
    except (ValueError, RecursionError):
        arguments = None
    if isinstance(arguments, dict):
        return cast("JsonObject", arguments), None
    return {}, f"the arguments are no JSON object: {text}"


def _pack(draft: Path, file: Path) -> None:
    """Write the members of an archive as they are, with the same bytes wherever and whenever it is done."""
    with zipfile.ZipFile(draft) as source, zipfile.ZipFile(file, "w") as packed:
        for name in source.namelist():
            member = zipfile.ZipInfo(name, date_time=_NO_TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(member, source.read(name))
