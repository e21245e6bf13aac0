"""What a rollout plays: environments with their own questions, or named servers with a user's prompts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, ValidationError

from astra_mcp.cli.rollout.options import AskedQuestions
from astra_mcp.errors import ConfigError, UnknownNameError, fault_words
from astra_mcp.home import user_path
from astra_mcp.types import FrozenModel, json_fault
from gateway.api.client import GatewayClient
from gateway.api.seams import EnvironmentInfo, TaskInfo
from gateway.api.wire import SourceEnvironment, SourceServers, SourceTask
from training.rollout.plan import Source

__all__ = ["AskedSources", "FoundSources", "ask_sources", "find_sources", "read_system_prompt"]

_MAX_SHOWN = 30
ALL_RUNS = "all"
"""Of ``--tasks``: whichever run made them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedSources:
    """What the user named; nobody has looked yet whether it exists."""

    environments: tuple[str, ...]
    """All there are where nothing is named."""
    questions: tuple[str, ...]
    """Further ones of the one environment that is named, in the place of its main one."""
    has_all_questions: bool
    """Ask each question of each environment."""
    servers: tuple[str, ...]
    """Of each episode; where there is one, no environment is played."""
    prompts: tuple[str, ...]
    """Each is played at the servers; without any, one episode has no prompt."""
    tasks: tuple[str, ...] = ()
    """Synthesized ones, by id."""
    task_run: str | None = None
    """Each task that this run of synthesis kept, or any run where it is ``all``."""

    @property
    def has_tasks(self) -> bool:
        """Whether tasks are played, and no environment."""
        return bool(self.tasks) or self.task_run is not None

    @property
    def shown_tasks(self) -> str | None:
        """Which tasks they are, for people; None where there are none."""
        if self.task_run is not None:
            return "of all runs" if self.task_run == ALL_RUNS else f"of the run {self.task_run}"
        return ", ".join(self.tasks) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSources:
    """What is played."""

    sources: Sequence[tuple[Source, str | None]]
    """In the order in which it was named, with the versions of environments."""
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """What trajectories of the tasks among it say of them, by id."""
    uncounted: tuple[str, ...] = ()
    """The environments among it that interactive endpoints show, where calls do not count."""


def ask_sources(
    environments: Sequence[str] | None,
    servers: Sequence[str] | None,
    prompt: str | None,
    prompt_file: Path | None,
    *,
    asked: Sequence[str] | None = None,
    questions: AskedQuestions = "main",
    tasks: Sequence[str] | None = None,
    task_run: str | None = None,
) -> AskedSources:
    """Read the options; what is named twice is played once.

    Args:
        environments: Their names.
        servers: ``--server``.
        prompt: ``--prompt``.
        prompt_file: ``--prompt-file``.
        asked: ``--question``.
        questions: ``--questions``.
        tasks: ``--task``.
        task_run: ``--tasks``.

    Raises:
        ConfigError: They do not go together, or the file holds no prompts.
    """
    if tasks or task_run is not None:
        others = (environments, servers, prompt, prompt_file, asked)
        return _ask_tasks(tasks or (), task_run, others=others)
    if environments and servers:
        raise ConfigError(
            f"an episode is of an environment or of servers: name {environments[0]!r} as NAME, or "
            "servers with --server, in runs of their own"
        )
    if not servers and (prompt is not None or prompt_file is not None):
        option = "--prompt" if prompt is not None else "--prompt-file"
        raise ConfigError(f"{option} goes with --server: an environment asks its own question")
    if asked and (len({*(environments or ())}) != 1 or questions == "all"):
        msg = (
            "--question names a question of one environment: give one NAME, and no --questions all"
        )
        raise ConfigError(msg)
    if servers and questions == "all":
        raise ConfigError("--questions is for environments: servers have no questions")
    if prompt is not None and prompt_file is not None:
        msg = "--prompt and --prompt-file are two ways to say one thing: give one of them"
        raise ConfigError(msg)
    if prompt is not None and (not prompt.strip() or json_fault(prompt)):
        msg = "--prompt is no text in UTF-8, or empty: say what the agent is asked to do"
        raise ConfigError(msg)
    prompts = _read_prompts(prompt_file) if prompt_file else [prompt] if prompt else []
    return AskedSources(
        environments=tuple(dict.fromkeys(environments or ())),
        questions=tuple(dict.fromkeys(asked or ())),
        has_all_questions=questions == "all",
        servers=tuple(dict.fromkeys(servers or ())),
        prompts=tuple(dict.fromkeys(prompts)),
    )


def _ask_tasks(tasks: Sequence[str], run: str | None, *, others: Sequence[object]) -> AskedSources:
    if any(others):
        raise ConfigError(
            "a task brings its servers and its query: leave NAME, --server, --prompt, --prompt-file and"
            " --question out where --tasks or --task is given"
        )
    if tasks and run is not None:
        raise ConfigError("--task names single tasks, --tasks all of a run: give one of them")
    return AskedSources(
        environments=(),
        questions=(),
        has_all_questions=False,
        servers=(),
        prompts=(),
        tasks=tuple(dict.fromkeys(tasks)),
        task_run=run,
    )


def read_system_prompt(given: str | None) -> str | None:
    """Take a text as it is, or that of the file that ``@`` stands before.

    Raises:
        ConfigError: The file cannot be read, or there is no text.
    """
    if given is None:
        return None
    text = given
    if given.startswith("@"):
        try:
            text = user_path(Path(given[1:])).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"--system-prompt {given} cannot be read: {error}") from None
    if not text.strip() or json_fault(text):
        msg = "--system-prompt is no text in UTF-8, or empty: leave it out where there is nothing to say"
        raise ConfigError(msg)
    return text


async def find_sources(gateway: GatewayClient, asked: AskedSources) -> FoundSources:
    """Find what is named.

    Raises:
        UnknownNameError: Something does not exist; names the closest ones.
        TransportError: The gateway does not tell.
    """
    if asked.has_tasks:
        return await _find_tasks(gateway, asked)
    if asked.servers:
        _require("server", asked.servers, [server.name for server in await gateway.servers()])
        return FoundSources(
            sources=[
                (SourceServers(kind="servers", names=asked.servers, prompt=prompt), None)
                for prompt in asked.prompts or (None,)
            ]
        )
    there = {e.name: e for e in await gateway.environments()}
    _require("environment", asked.environments, there)
    found = [there[name] for name in asked.environments or there]
    return FoundSources(
        sources=[
            (SourceEnvironment(kind="environment", name=e.name, question=question), e.version)
            for e in found
            for question in await _find_questions(gateway, e, asked)
        ],
        uncounted=tuple(e.name for e in found if e.interactive),
    )


async def _find_tasks(gateway: GatewayClient, asked: AskedSources) -> FoundSources:
    run = None if asked.task_run in (None, ALL_RUNS) else asked.task_run
    there = {task.id: task for task in await gateway.tasks(run)}
    if not there and run is not None:
        runs = sorted({task.run for task in await gateway.tasks()})
        _require("run of tasks", [run], runs)
    if not there:
        raise ConfigError("the gateway knows no task: `astra-mcp synth tasks` makes some")
    _require("task", asked.tasks, there)
    played = [there[id] for id in asked.tasks or there]
    return FoundSources(
        sources=[(SourceTask(kind="task", id=task.id), None) for task in played],
        labels={task.id: _labels_of(task) for task in played},
    )


def _labels_of(task: TaskInfo) -> Mapping[str, str]:
    told = {"servers": ", ".join(task.servers), "origin": task.origin, "axis": task.axis}
    return told if task.domain is None else told | {"domain": task.domain}


async def _find_questions(
    gateway: GatewayClient, environment: EnvironmentInfo, asked: AskedSources
) -> Sequence[str | None]:
    """The questions of one environment that are played, by their ids; None is the main one."""
    is_alone = environment.num_questions == 1
    if not asked.questions and (is_alone or not asked.has_all_questions):
        return (None,)
    details = await gateway.environment(environment.name)
    there = [further.id for further in details.questions]
    _require(f"further question of {environment.name}", asked.questions, there)
    return asked.questions or (None, *there)


def _require(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    there = tuple(known)
    for name in names:
        if name not in there:
            shown = ", ".join(there[:_MAX_SHOWN]) + (", ..." if len(there) > _MAX_SHOWN else "")
            hint = f"there are: {shown}" if there else "there is none"
            raise UnknownNameError.among(kind, name, there, hint)


class _PromptLine(FrozenModel):
    """One line of a ``.jsonl`` file of prompts."""

    prompt: str = Field(pattern=r"\S")


def _read_prompts(path: Path) -> list[str]:
    """Read a file of prompts; empty lines hold none.

    Raises:
        ConfigError: It cannot be read, holds no prompt, or a line is none; names the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--prompt-file {path} cannot be read: {error}") from None
    lines = [(n, line.strip()) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise ConfigError(f"--prompt-file {path} holds no prompt: write one on each line")
    if path.suffix == ".jsonl":
        return list(_parse_prompts(path, lines))
    return [line for _, line in lines]


def _parse_prompts(path: Path, lines: Iterable[tuple[int, str]]) -> Iterator[str]:
    for number, line in lines:
        try:
            yield _PromptLine.model_validate_json(line).prompt
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            field = "".join(f"{part}: " for part in fault["loc"])
            words = fault_words(fault["type"], fault["msg"])
            raise ConfigError(
                f'--prompt-file {path}, line {number}: {field}{words}; a line is {{"prompt": ...}}'
            ) from None
