"""Looks at everything before a run begins: versions, data, template, lengths, and what it takes of memory."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from astra_mcp.errors import ConfigError
from training.render import Renderer, Tokenizer
from training.sft.conversations import Conversation, SetReader
from training.sft.examples import Example, ExampleSet, make_examples
from training.sft.mixture import Mixture, Part
from training.sft.schedule import Schedule, batches_of
from training.sft.settings import DataSet, SftSettings

__all__ = [
    "Prepared",
    "PreparedSet",
    "check_data",
    "check_fit",
    "check_versions",
    "prepare",
    "require_data",
]

_PRODUCT, _EXTRA = "astra-mcp", "train"
_INSTALL = f"install {_PRODUCT}[{_EXTRA}]"


@dataclass(frozen=True, slots=True)
class PreparedSet:
    """One set, as it was found."""

    data: DataSet
    examples: ExampleSet
    account: str
    """Which rows were read and left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """All that a run is made of, but the model."""

    settings: SftSettings
    model: str
    """Where the model is, which may have been made on the spot."""
    versions: Mapping[str, str]
    sets: Sequence[PreparedSet]
    validation: PreparedSet | None
    examples: Sequence[Example]
    """Those of all sets, numbered through."""
    num_seen: int
    """How often examples are seen over all epochs."""
    batches: Sequence[Sequence[int]]
    """Numbers of examples, step by step."""
    schedule: Schedule

    @property
    def digests(self) -> Mapping[str, str]:
        """Of the examples of each set, by its name."""
        found = {f"data.{number}": each.examples.digest for number, each in enumerate(self.sets)}
        held_out = self.validation
        return found | ({"validation": held_out.examples.digest} if held_out else {})

    def batch(self, step: int) -> Sequence[Example]:
        """Give the examples of a step, from 0."""
        return [self.examples[number] for number in self.batches[step]]

    def epoch(self, num_steps: int) -> float:
        """Say how many epochs so many steps are."""
        settings = self.settings.training
        return settings.epochs * min(num_steps * settings.batch_size / self.num_seen, 1)


def check_versions() -> Mapping[str, str]:
    """Find the libraries of the extra, each in a version that was meant.

    Raises:
        ConfigError: One is missing, or of another version; says what to install.
    """
    try:
        from packaging.requirements import Requirement  # noqa: PLC0415 - comes with the extra
    except ModuleNotFoundError:
        raise ConfigError(f"training needs PyTorch and Transformers: {_INSTALL}") from None
    wanted = [Requirement(text) for text in requires(_PRODUCT) or ()]
    of_extra = [
        each
        for each in wanted
        if each.marker is not None
        and each.marker.evaluate({"extra": _EXTRA})
        and not each.marker.evaluate({"extra": ""})
    ]
    if not of_extra:
        raise ConfigError(f"this installation does not know what training needs: {_INSTALL} again")
    found: dict[str, str] = {}
    for each in of_extra:
        try:
            found[each.name] = version(each.name)
        except PackageNotFoundError:
            raise ConfigError(f"training needs {each.name}: {_INSTALL}") from None
        if not each.specifier.contains(found[each.name], prereleases=True):
            raise ConfigError(
                f"training needs {each.name}{each.specifier}, and {found[each.name]} is here: {_INSTALL}"
            )
    return found


def require_data(settings: SftSettings) -> None:
    """Refuse settings that name nothing to train on."""
    if not settings.data:
        raise ConfigError("there is nothing to train on: name a set with [[data]] or --data FILE")


def check_data(settings: SftSettings) -> Mapping[str, str]:
    """Read every file to its end, as far as that takes no model: rows, their form, and filters.

    Returns:
        What was read, by the names of the sets.

    Raises:
        ConfigError: See :class:`~training.sft.conversations.SetReader`.
    """
    held_out = settings.validation.file
    sets = {f"data.{number}": each for number, each in enumerate(settings.data)}
    told: dict[str, str] = {}
    for name, data in (sets | ({"validation": DataSet(file=held_out)} if held_out else {})).items():
        reader = SetReader(data)
        for _ in reader:
            pass
        told[name] = f"{data.file}: {reader.account()}"
    return told


def prepare(
    settings: SftSettings,
    renderer: Renderer,
    tokenizer: Tokenizer,
    *,
    model: str,
    versions: Mapping[str, str],
) -> Prepared:
    """Read and encode all sets, and lay down every step.

    Args:
        settings: Of the run.
        renderer: Of the model.
        tokenizer: Of the model.
        model: Where the model is.
        versions: Of the libraries, for the record.

    Raises:
        ConfigError: A library, a file or a set cannot be used; names it.
    """
    require_data(settings)
    held_out = settings.validation.file
    rows: set[bytes] = set()
    sets = [_read(data, settings, renderer, tokenizer, rows) for data in settings.data]
    validation = None
    if held_out is not None:
        held_rows: set[bytes] = set()
        validation = _read(DataSet(file=held_out), settings, renderer, tokenizer, held_rows)
        if both := len(rows & held_rows):
            raise ConfigError(
                f"validation.file: of the {len(held_rows)} rows of {held_out}, {both} are trained on: name"
                " rows that the model never saw"
            )
    examples = [example for each in sets for example in each.examples.examples]
    parts = [Part(len(each.examples.examples), each.data.weight) for each in sets]
    training = settings.training
    mixture = Mixture(parts, settings.seed)
    seen = mixture.num_seen(training.epochs)
    _check_seen(sets, seen, training.epochs)
    most = training.max_steps and training.max_steps * training.batch_size
    order = mixture.order(training.epochs, most)
    batches = batches_of(order, training.batch_size, training.max_steps)
    return Prepared(
        settings=settings,
        model=model,
        versions=versions,
        sets=sets,
        validation=validation,
        examples=examples,
        num_seen=sum(seen),
        batches=batches,
        schedule=Schedule.of(training, len(batches)),
    )


def _check_seen(sets: Sequence[PreparedSet], seen: Sequence[int], epochs: float) -> None:
    for number, (each, times) in enumerate(zip(sets, seen, strict=True)):
        if not times:
            raise ConfigError(
                f"data.{number}.weight: no row of {each.data.file} is ever seen, with a weight of"
                f" {each.data.weight:g}, {len(each.examples.examples)} examples and {epochs:g} epochs: take a"
                " larger weight or more epochs, or leave the set out"
            )


def _read(
    data: DataSet,
    settings: SftSettings,
    renderer: Renderer,
    tokenizer: Tokenizer,
    rows: set[bytes],
) -> PreparedSet:
    """Make the examples of a set, and add the digests of its rows."""
    reader = SetReader(data)

    def noted() -> Iterator[Conversation]:
        for each in reader:
            rows.add(each.digest)
            yield each

    made = make_examples(noted(), renderer, tokenizer, settings.examples, str(data.file))
    return PreparedSet(data, made, reader.account())


def check_fit(prepared: Prepared, config: Any) -> None:
    """Hold the examples against the model's own bounds.

    Args:
        prepared: What was read.
        config: Of the model, as Transformers has it.

    Raises:
        ConfigError: An example is longer than the model can read, or has a token that it does not know.
    """
    _check_set(prepared.examples, "examples.max_tokens", prepared.settings.model, config)
    if prepared.validation is not None:
        held_out = prepared.validation.examples.examples
        _check_set(
            held_out, "examples.max_tokens: validation.file", prepared.settings.model, config
        )


def _check_set(examples: Sequence[Example], setting: str, model: str, config: Any) -> None:
    longest = max(len(each.ids) for each in examples)
    bound = getattr(config, "max_position_embeddings", None)
    if bound is not None and longest > bound:
        raise ConfigError(
            f"{setting}: an example has {longest} tokens, and {model} reads {bound}: set it to"
            f" {bound} or less"
        )
    largest = max(int(each.ids.max()) for each in examples)
    if largest >= config.vocab_size:
        raise ConfigError(
            f"{model}: its tokenizer has the token {largest}, and its vocabulary ends at"
            f" {config.vocab_size - 1}: the two do not belong together"
        )
