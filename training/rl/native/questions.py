"""Which questions a run plays: those of environments that it names, and the rows of files."""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, cast

from pydantic import ValidationError

from astra_mcp.errors import ConfigError, UnknownNameError, fault_words
from gateway.api.client import GatewayClient
from gateway.api.seams import EnvironmentInfo
from gateway.api.wire import DistractorRequest, EpisodeRequest, SourceEnvironment
from training.export.row_files import read_rows
from training.rl.native.agenda import Question
from training.rl.native.settings import DistractorShare, QuestionSet, RlSettings
from training.rollout.plan import Source

__all__ = ["find_held_out", "find_questions"]

_EPISODE = "extra_info.episode"
_USED = {"source", "seed", "distractors", "failures"}
"""The seed is the one that is allowed and not used: rows of one question differ in it alone."""


async def find_questions(gateway: GatewayClient, settings: RlSettings) -> list[Question]:
    """Find what a run learns from, in the order of its settings.

    Raises:
        ConfigError: A file cannot be read, or a row is none; names both.
        UnknownNameError: The gateway has no such environment; names the closest ones.
        TransportError: The gateway does not tell.
    """
    there = {each.name: each for each in await gateway.environments()}
    found: list[Question] = []
    for number, asked in enumerate(settings.data):
        if asked.file is not None:
            found += _of_file(asked.file, asked, there)
        else:
            _require(f"data.{number}.environments", asked.environments, there)
            found += [each async for each in _of_names(gateway, asked, there)]
    if not found:
        raise ConfigError("there is nothing to play: the files of [[data]] have no rows")
    return found


async def find_held_out(
    gateway: GatewayClient, settings: RlSettings, trained: Sequence[Question] = ()
) -> list[tuple[Source, str | None]]:
    """Find what a run is judged by: the main question of each environment.

    Args:
        gateway: Of the environments.
        settings: Name them; one that is named twice is judged by once.
        trained: What the run learns from, none of which it may be judged by.

    Raises:
        ConfigError: A question is trained on, too.
        UnknownNameError: The gateway has no such environment; names the closest ones.
        TransportError: The gateway does not tell.
    """
    there = {each.name: each for each in await gateway.environments()}
    _require("validation.environments", settings.validation.environments, there)
    found = [
        SourceEnvironment(kind="environment", name=name)
        for name in dict.fromkeys(settings.validation.environments)
    ]
    known = [question.source for question in trained]
    for source in found:
        if source in known:
            raise ConfigError(
                f"validation.environments: the main question of {source.name} is trained on, too; name"
                " environments that [[data]] does not"
            )
    return [(source, there[source.name].version) for source in found]


def _require(place: str, names: Sequence[str], there: Mapping[str, object]) -> None:
    for name in names:
        if name not in there:
            known = "`astra-mcp environments list` names those that the gateway has"
            raise UnknownNameError.among(f"environment ({place})", name, there, known)


async def _of_names(
    gateway: GatewayClient, asked: QuestionSet, there: Mapping[str, EnvironmentInfo]
) -> AsyncGenerator[Question]:
    for name in dict.fromkeys(asked.environments):
        further: Sequence[str] = ()
        if asked.questions == "all" and there[name].num_questions > 1:
            further = [each.id for each in (await gateway.environment(name)).questions]
        for question in (None, *further):
            yield Question(
                source=SourceEnvironment(kind="environment", name=name, question=question),
                version=there[name].version,
                failures=asked.failures,
                **_distractors(asked),
            )


def _of_file(
    file: Path, asked: QuestionSet, there: Mapping[str, EnvironmentInfo]
) -> Iterator[Question]:
    for number, row in read_rows(file):
        if isinstance(row, str):
            raise ConfigError(f"{file}: row {number} {row}")
        episode = _episode_of(file, number, row)
        version, own = None, episode.distractors
        if isinstance(episode.source, SourceEnvironment):
            _require(f"{file}: row {number}", [episode.source.name], there)
            version = there[episode.source.name].version
        yield Question(
            source=episode.source,
            version=version,
            failures=episode.failures or asked.failures,
            **(_distractors(asked) if own is None else _Distractors(distractors=own)),
        )


class _Distractors(TypedDict, total=False):
    """What a question says of them."""

    distractors: DistractorRequest
    mixture: tuple[DistractorShare, ...]


def _distractors(asked: QuestionSet) -> _Distractors:
    """Take one kind for what all groups get."""
    match asked.distractors:
        case ():
            return {}
        case (one,):
            return {"distractors": DistractorRequest(mode=one.mode, k=one.k)}
        case several:
            return {"mixture": several}


def _episode_of(file: Path, number: int, row: Mapping[str, object]) -> EpisodeRequest:
    extra = row.get("extra_info")
    text = cast("Mapping[str, object]", extra).get("episode") if isinstance(extra, dict) else None
    if not isinstance(text, str):
        raise ConfigError(
            f"{file}: row {number} has no {_EPISODE}: take rows of `astra-mcp export rl`"
        )
    try:
        episode = EpisodeRequest.model_validate(json.loads(text))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join([_EPISODE, *map(str, fault["loc"])])
        words = fault_words(fault["type"], fault["msg"])
        raise ConfigError(f"{file}: row {number}: {place}: {words}") from None
    except ValueError as error:
        raise ConfigError(f"{file}: row {number}: {_EPISODE} is no JSON: {error}") from None
    unused = sorted(episode.model_fields_set - _USED)
    if unused:
        raise ConfigError(f"{file}: row {number}: {_EPISODE}.{unused[0]}: a run cannot ask for it")
    return episode
