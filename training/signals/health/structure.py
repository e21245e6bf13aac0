"""What form a generation of a policy has: a call, words, something polluted, or nothing but control tokens.

The four states, and the order of the rules, are those of the study of collapses of tool-use RL (appendix A
and table 3). Control tokens and calls are those of the renderer's dialect. Names of tools are not looked at:
a call of one that is not there is a mistake of another kind.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum

from astra_mcp.text.strict_json import parse_strict, parse_strict_prefix
from training.render import (
    Controls,
    ControlTags,
    Dialect,
    Renderer,
    Sign,
    ThinkingPolicy,
    Thoughts,
    Tokenizer,
)

__all__ = ["Classifier", "Reason", "Spelled", "State", "Stop", "Structure"]

_SPACE = re.compile(r"\s*")


class State(StrEnum):
    """The form of one generation."""

    TOOL_CALL = "healthy_tool_call"
    RESPONSE = "healthy_response"
    POLLUTED = "text_polluted"
    """Something is left in it that a parser stumbles over, or it was cut."""
    COLLAPSED = "collapsed"
    """It holds control tokens and blanks alone, or nothing."""


class Reason(StrEnum):
    """Why a generation is not healthy."""

    EMPTY = "empty"
    """Collapsed: nothing but blanks stands before its end."""
    ONLY_TAGS = "only_tags"
    """Collapsed: control tokens alone do."""
    BAD_JSON = "bad_json"
    """What stands in a call is no JSON."""
    BAD_SCHEMA = "bad_schema"
    """It is JSON, and not the object of a call."""
    TAG_INSIDE_CALL = "tag_inside_call"
    UNCLOSED_CALL = "unclosed_call"
    STRAY_CLOSE = "stray_close"
    STRAY_TAG = "stray_tag"
    """A control token of turns, thoughts, calls or results where none belongs."""
    UNCLOSED_THOUGHT = "unclosed_thought"
    UNREAD_PART = "unread_part"
    """The renderer cannot read a part of it for another reason, such as what follows a call of Llama."""
    NO_END = "no_end"
    """It was cut before it came to its end."""
    UNREADABLE_CALL = "unreadable_call"
    """Of stored messages alone: a call that could not be read, of which the text is gone."""


class Stop(StrEnum):
    """Why a generation ended."""

    EOS = "eos"
    LENGTH = "length"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class Spelled:
    """A generation as text."""

    text: str
    words: tuple[tuple[int, int], ...] = ()
    """Begin and end of each part of which it is known that no control token stands in it, though one may be
    spelled there. Without token ids nothing is known."""


@dataclass(frozen=True, slots=True)
class Structure:
    """What a generation is."""

    state: State
    reasons: tuple[Reason, ...] = ()
    """In the order of the enumeration, each once; healthy ones have none."""
    num_calls: int = 0
    """That can be read."""
    controls: Mapping[str, int] = field(default_factory=dict[str, int])
    """How often each control token stands in it, the end among them."""
    num_tokens: int = 0
    """Of which it was made; 0 where they are not known."""


class Classifier:
    """Classifies for one dialect; :meth:`of` makes it for a renderer, and a name of a dialect is enough."""

    def __init__(
        self,
        dialect: Dialect,
        *,
        ends: Sequence[str] = (),
        controls: Iterable[str] = (),
        thoughts: Thoughts | None = None,
        thinks: bool = False,
    ) -> None:
        """Take what tells control tokens from words.

        Args:
            dialect: How calls are spelled.
            ends: What ends a turn; by default what does so in the dialect.
            controls: Further control tokens.
            thoughts: How the template spells them.
            thinks: Whether a thought may stand first.
        """
        self._dialect = dialect
        self._thoughts = thoughts
        self._thinks = thinks
        self.ends = tuple(ends) or dialect.tags.ends
        of_thoughts = thoughts.tags() if thoughts else ()
        self._controls = Controls((*dialect.tags.all, *self.ends, *controls, *of_thoughts))
        self._known: tuple[Tokenizer, Mapping[int, str]] | None = None

    @classmethod
    def of(cls, renderer: Renderer) -> "Classifier":
        """Make one for what a renderer writes and reads."""
        return cls(
            renderer.dialect,
            ends=renderer.ends,
            controls=renderer.controls.spellings,
            thoughts=renderer.thoughts,
            thinks=renderer.thinking is ThinkingPolicy.ON,
        )

    @property
    def tags(self) -> ControlTags:
        """Those of the dialect."""
        return self._dialect.tags

    @property
    def controls(self) -> frozenset[str]:
        """All control tokens that are looked for."""
        return self._controls.spellings

    def of_text(self, text: str, stop: Stop | None = None) -> Structure:
        """Classify a text, in which whatever is spelled like a control token counts as one. Never raises.

        Args:
            text: Of one generation, its end included where it came to one.
            stop: Why it ended, where that is known; an end may be missing in the text then. Where it is not,
                a text without its end was cut.
        """
        return self.of_spelled(Spelled(text), stop)

    def of_ids(
        self, ids: Sequence[int], tokenizer: Tokenizer, stop: Stop | None = None
    ) -> Structure:
        """Classify sampled tokens: a control token that is one token of its own is known by its id.

        Args:
            ids: Of one generation, the end token included where it came to one.
            tokenizer: That of the policy.
            stop: As for :meth:`of_text`.
        """
        found = self.of_spelled(self.spelled(ids, tokenizer), stop)
        return Structure(found.state, found.reasons, found.num_calls, found.controls, len(ids))

    def spelled(self, ids: Sequence[int], tokenizer: Tokenizer) -> Spelled:
        """Decode ids, and tell control tokens from words that spell one."""
        singles = self._single_ids(tokenizer)
        text, words, begin = "", list[tuple[int, int]](), 0
        for at in range(len(ids) + 1):
            if at < len(ids) and ids[at] not in singles:
                continue
            part = tokenizer.decode(ids[begin:at]) if at > begin else ""
            if part:
                words.append((len(text), len(text) + len(part)))
            text += part + (singles[ids[at]] if at < len(ids) else "")
            begin = at + 1
        # Words in which a control token of several tokens stands are left to the text.
        several = Controls(self.controls - set(singles.values()))
        known = tuple((a, b) for a, b in words if not several.found(text[a:b]))
        return Spelled(text, known)

    def _single_ids(self, tokenizer: Tokenizer) -> Mapping[int, str]:
        """Give the control tokens that are one token, by their ids; those of the last tokenizer are kept."""
        if self._known is None or self._known[0] is not tokenizer:
            encoded = ((tag, tokenizer.encode(tag)) for tag in sorted(self.controls))
            self._known = tokenizer, {ids[0]: tag for tag, ids in encoded if len(ids) == 1}
        return self._known[1]

    def of_spelled(self, generation: Spelled, stop: Stop | None = None) -> Structure:
        """Classify a text of which parts are known to be words. Never raises."""
        whole = self._marked(generation)
        controls = {tag: count for tag in sorted(self.controls) if (count := whole.count(tag))}
        text, has_end = self._before_end(whole)
        is_ended = has_end if stop is None else stop is Stop.EOS
        reasons: set[Reason] = set() if is_ended else {Reason.NO_END}
        text = self._behind_thought(text, reasons)
        if not self.without_tags(text).strip():
            reasons.add(Reason.ONLY_TAGS if text.strip() else Reason.EMPTY)
            return Structure(State.COLLAPSED, _ordered(reasons), controls=controls)
        reasons |= {*self._faults(text)}
        num_calls = len(self._dialect.read(text).calls)
        if reasons:
            return Structure(State.POLLUTED, _ordered(reasons), num_calls, controls)
        return Structure(
            State.TOOL_CALL if num_calls else State.RESPONSE,
            num_calls=num_calls,
            controls=controls,
        )

    def _marked(self, generation: Spelled) -> str:
        """Put a sign into each control token that is only spelled, so that nobody takes it for one."""
        text = generation.text
        if not generation.words:
            return text
        sign, parts, at = Sign(text), list[str](), 0
        for begin, end in generation.words:
            parts += text[at:begin], self._controls.mark(text[begin:end], sign)
            at = end
        return "".join((*parts, text[at:]))

    def _before_end(self, text: str) -> tuple[str, bool]:
        """Take one end off, and say whether there was one; blanks behind it do not count."""
        bare = text.rstrip()
        for end in self.ends:
            if bare.endswith(end):
                return bare.removesuffix(end), True
        return text, False

    def _behind_thought(self, text: str, reasons: set[Reason]) -> str:
        """Take off the thought that a generation may begin with."""
        if not self._thinks or self._thoughts is None:
            return text
        is_begun = not self._thoughts.opening
        _, rest, faults = self._thoughts.split(text, is_begun=is_begun)
        if faults:
            reasons.add(Reason.UNCLOSED_THOUGHT)
            return text
        return rest

    def without_tags(self, text: str) -> str:
        """Put a blank in the place of each control token."""
        for tag in sorted(self.controls, key=len, reverse=True):
            text = text.replace(tag, " ")
        return text

    def _faults(self, text: str) -> Iterator[Reason]:
        """Give why a text is polluted; one reason may come several times."""
        tags = self._dialect.tags
        calls, rest = self._closed_calls(text) if tags.closing else self._open_calls(text)
        for call, fault in calls:
            if self._controls.found(call):
                yield Reason.TAG_INSIDE_CALL
            elif fault is not None:
                yield fault
        strays = {*self._controls.found(rest)}
        if tags.closing and tags.opening in strays:
            yield Reason.UNCLOSED_CALL
        if tags.closing in strays:
            yield Reason.STRAY_CLOSE
        read = self._dialect.read(text)
        strays |= {*self._controls.found(read.content)}
        if strays - ({tags.opening, tags.closing} if tags.closing else set()):
            yield Reason.STRAY_TAG
        if read.faults and not strays and all(fault is None for _, fault in calls):
            yield Reason.UNREAD_PART

    def _closed_calls(self, text: str) -> tuple[list[tuple[str, Reason | None]], str]:
        """Give what stands between tags, each with its fault, and all that does not."""
        tags, calls, rest, at = self._dialect.tags, list[tuple[str, Reason | None]](), "", 0
        while (begin := text.find(tags.opening, at)) >= 0:
            end = text.find(tags.closing, begin)
            if end < 0:
                break
            rest += text[at:begin]
            call = text[begin + len(tags.opening) : end].strip()
            at = end + len(tags.closing)
            calls.append((call, self._fault_of(call, text[begin:at])))
        return calls, rest + text[at:]

    def _open_calls(self, text: str) -> tuple[list[tuple[str, Reason | None]], str]:
        """Do the same where JSON says itself where it ends; a call may stand there without a tag."""
        tags, calls, rest, at = self._dialect.tags, list[tuple[str, Reason | None]](), "", 0
        begin = text.find(tags.opening) if tags.opening else -1
        if tags.is_optional and self._is_call(text):
            begin = _end_of_space(text, 0)
        while begin >= 0:
            rest += text[at:begin]
            tag = tags.opening if text.startswith(tags.opening, begin) else ""
            call, at = _json_at(text, begin + len(tag))
            calls.append((call, self._fault_of(call, tag + call)))
            begin = text.find(tags.opening, at)
        return calls, rest + text[at:]

    def _is_call(self, text: str) -> bool:
        read = self._dialect.read(text)
        return bool(read.calls or read.faults)

    def _fault_of(self, call: str, block: str) -> Reason | None:
        try:
            parse_strict(call)
        except (ValueError, RecursionError):
            return Reason.BAD_JSON
        read = self._dialect.read(block)
        return None if read.calls and not read.faults else Reason.BAD_SCHEMA


def _ordered(reasons: Set[Reason]) -> tuple[Reason, ...]:
    return tuple(reason for reason in Reason if reason in reasons)


def _json_at(text: str, at: int) -> tuple[str, int]:
    """Give the JSON that begins at a place behind blanks, and its end; what is none ends with its line."""
    begin = _end_of_space(text, at)
    try:
        _, end = parse_strict_prefix(text, begin)
    except (ValueError, RecursionError):
        line = text.find("\n", begin)
        end = len(text) if line < 0 else line
    return text[begin:end], end


def _end_of_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
