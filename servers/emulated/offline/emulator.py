"""Satisfies :class:`servers.emulated.emulator.Emulator` without a model.

What a call does to the entities of its noun, and what is told of it: one method for each verb. What is
learned of a version is shared by its sessions and forgotten when it is not used for long; a session keeps
its own entities alone.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final, cast

from anyio.lowlevel import checkpoint

from astra_mcp.errors import UpstreamError
from astra_mcp.schemas import SchemaError
from astra_mcp.seeds import derive_seed
from astra_mcp.types import (
    CallOutcome,
    EmulatorKind,
    JsonObject,
    JsonValue,
    PastCall,
    ToolSpec,
    canonical_json,
)
from astra_mcp.values.nouns import key_of
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.scalars import NoValueError, UnmetError
from servers.emulated.arguments import one_by_one, taken_apart, with_given
from servers.emulated.emulator import EmulatedAnswer, EmulatedDocument
from servers.emulated.offline.computing.answering import computed, of_session
from servers.emulated.offline.computing.computation import Moment
from servers.emulated.offline.computing.recognition import Recognition
from servers.emulated.offline.facts import (
    Facts,
    gives_many,
    says_nothing,
    state_of,
    written_arguments,
)
from servers.emulated.offline.fields import NESTED, attribute_of, inner_fields
from servers.emulated.offline.finding import Call, check_references, described, named_entities
from servers.emulated.offline.forms import formed
from servers.emulated.offline.keeping.kept import Keeping, KeepingTools
from servers.emulated.offline.learning import Learned, Noun, lists_too
from servers.emulated.offline.outcomes import (
    is_act,
    outcome,
    refuse_unknowable,
    refuse_unworked,
    unavailable,
)
from servers.emulated.offline.payloads.telling import Payloads
from servers.emulated.offline.promises import Form
from servers.emulated.offline.result_lists import Answer, Listing, listed
from servers.emulated.offline.running import ran
from servers.emulated.offline.selection import EntityRefusedError, filters_of
from servers.emulated.offline.series import is_series
from servers.emulated.offline.store import Collection, Entity, Store
from servers.emulated.parameters import key_suffix
from servers.emulated.verbs import Verb

__all__ = ["OfflineEmulator", "OfflineState"]

_MANNERS: Final = frozenset(
    ("currency", "vs_currency", "quote", "unit", "units", "language", "lang", "locale", "timezone")
)
"""Say how a thing is told of."""
_PLACING: Final = frozenset(("add", "append", "insert", "post", "put", "register"))
"""Verbs of what is put into something else, whether it was there before or not."""
_SETTING: Final = frozenset(("set", "save", "store", "write", "put", "upsert"))
"""Verbs that make what they do not find."""


_CHANGING: Final = (Verb.CREATE, Verb.UPDATE, Verb.DELETE)


class _Known:
    """What is known of one version of a server; its sessions share it."""

    def __init__(self, document: EmulatedDocument) -> None:
        self.learned = Learned(document)
        """Its entities."""
        self.recognition = Recognition(self.learned.document.tools)
        """What its tools compute."""
        self._keeping: KeepingTools | None = None

    @property
    def keeping(self) -> KeepingTools:
        """What its tools keep under keys and paths; read with the first session."""
        self._keeping = self._keeping or KeepingTools(self.learned.document, self.learned.readings)
        return self._keeping


class _Answering:
    """Answers the calls of one session."""

    def __init__(self, known: "_Known", store: Store, rng: RandomStream) -> None:
        self._known = known
        """What the documents say."""
        self._learned = known.learned
        self._keeping = Keeping(known.keeping, rng, store.on_undo)
        """What is kept under keys and paths."""
        self._store = store
        """What exists; calls change it."""
        self._rng = rng
        """Decide what is made up beside entities."""
        self._facts = Facts(store, rng)
        self._listing = Listing(store)
        self._payloads = Payloads(known.learned.document, store, rng)

    def told(self, call: Call) -> Answer:
        """What a call is told.

        Raises:
            RefusedError: There is no such entity, or an argument makes no sense.
            UnmetError: A member of an entity cannot be made.
        """
        now = self._store.now
        answer = self._keeping.told(call, now)
        if answer is None:
            moment = Moment(now=now, rng=self._rng.at("thrown", self._store.calls))
            answer = computed(self._known.recognition, call, of_session(moment))
        if answer is not None:
            return answer
        call = self._taken_apart(call)
        return self._counted(call) or self._made_up(call)

    def _taken_apart(self, call: Call) -> Call:
        """A call in which JSON that is written as text is what it says."""
        tool, arguments = taken_apart(call.tool, call.arguments)
        if tool is call.tool:
            return call
        return Call(tool=tool, reading=self._learned.reading(tool), arguments=arguments)

    def _made_up(self, call: Call) -> Answer:
        parents = check_references(self._store, call)
        return self._spelled(call) or self._told_of(call, parents)

    def _told_of(self, call: Call, parents: list[Entity]) -> Answer:
        reading = call.reading
        if reading.verb is Verb.OTHER:
            return self._outcome(call)
        if _is_whole(call) and self._learned.made:
            return self._whole()
        collection = self._store.collection(reading.noun or "item")
        if reading.verb is not Verb.CREATE and len(call.named) == 1:
            collection = self._store.home(collection, call.named[0])
        is_all = call.own is None and lists_too(reading)
        if reading.verb in (Verb.LIST, Verb.SEARCH) or is_all:
            is_fact = reading.verb is Verb.LIST and not collection.noun.is_kept
            if is_fact and is_series(call, self._learned.promise(call.tool), collection.noun.found):
                return self._fact(call, collection)
            return self._listing.told(call, collection, parents)
        if reading.verb is not Verb.CREATE and collection.noun.is_fact(reading):
            return self._fact(call, collection)
        ways = {
            Verb.GET: self._get,
            Verb.CREATE: self._create,
            Verb.UPDATE: self._update,
            Verb.DELETE: self._delete,
        }
        return self._confirmed(call, ways[reading.verb](call, collection))

    def _whole(self) -> Answer:
        """Everything that there is of what callers make, such as the entities and relations of a graph."""
        told: JsonObject = {}
        for noun in self._learned.made:
            collection = self._store.collection(noun)
            told[collection.noun.shown] = [
                self._store.shown(collection, entity) for entity in collection.newest_first()
            ]
        return Answer(told)

    def _confirmed(self, call: Call, answer: Answer) -> Answer:
        """Say of a change that it succeeded, where the tool is said to confirm it."""
        is_confirmed = self._learned.promise(call.tool).form is Form.NOTICE
        if call.reading.verb is Verb.GET or not is_confirmed or "success" in answer.shown:
            return answer
        return Answer({"success": True, **answer.shown}, answer.more, answer.text)

    def _spelled(self, call: Call) -> Answer | None:
        """What a call is told by what it spells itself: a page, a table, a command, a query."""
        told = self._for_what_it_is(call) if self._payloads.may_tell(call) else None
        if told is not None:
            return told
        ran_told = ran(call, self._store.wording, self._rng)
        return None if ran_told is None else Answer(ran_told)

    def _for_what_it_is(self, call: Call) -> Answer | None:
        """What a kind of payload says; None where entities are kept, or no kind knows the call."""
        noun = self._learned.noun(call.reading.noun) if call.reading.noun else None
        others = self._others(call)
        if noun is not None and (noun.is_filed or not others.isdisjoint(_CHANGING)):
            return None
        return self._payloads.told(
            call,
            self._learned.promise(call.tool),
            find=lambda: self._named(call),
            is_given_out=noun is not None and noun.is_given_out and bool(others),
        )

    def _others(self, call: Call) -> frozenset[Verb]:
        """What the other tools of the server do to the noun of a call."""
        readings = self._learned.readings.items()
        return frozenset(
            each.verb
            for name, each in readings
            if name != call.tool.name and each.noun == call.reading.noun
        )

    def _named(self, call: Call) -> JsonObject | None:
        """The one entity that a call names, where the server gives such ones out."""
        if call.own is None or call.reading.noun is None or call.names_many:
            return None
        collection = self._store.collection(call.reading.noun)
        if not collection.noun.is_given_out:
            return None
        return self._store.shown(collection, named_entities(self._store, collection, call)[0])

    def _of_items(self, call: Call, collection: Collection) -> list[Entity] | None:
        """The entities that a list of objects describes; None where a call has no such list."""
        items = self._items(call, collection.noun) if call.own is None else None
        return None if items is None else [described(self._store, collection, i) for i in items]

    def _get(self, call: Call, collection: Collection) -> Answer:
        return self._shown(call, collection, named_entities(self._store, collection, call))

    def _counted(self, call: Call) -> Answer | None:
        """How many there are, where a tool such as ``count_orders`` or ``get_order_count`` asks it."""
        noun = call.reading.noun or ""
        if call.reading.word != "count":
            noun = noun.removesuffix("_count") if noun.endswith("_count") else ""
        if not noun or call.own is not None or not self._known.learned.noun(noun).is_given_out:
            return None
        parents = check_references(self._store, call)
        total = self._listing.told(call, self._store.collection(noun), parents).known["total"]
        return Answer({"count": total}, dict.fromkeys(("result", "total", "value"), total))

    def _outcome(self, call: Call) -> Answer:
        found: list[Entity] = []
        if call.own is not None and call.reading.noun is not None:
            found = named_entities(self._store, self._store.collection(call.reading.noun), call)
        summary = refuse_unknowable(call)
        if summary is not None:
            return Answer({"summary": summary})
        if is_act(call, self._learned.promise(call.tool)):
            return Answer(self._acted(call))
        collection = self._store.collection(call.reading.noun or "item")
        if len(found) == 1 and found[0].is_known:
            return self._told_of_one(call, collection, found[0])
        if call.reading.verb is Verb.OTHER and self._is_untold(call, collection.noun):
            refuse_unworked(call)
            return Answer({**_echoed(call), "status": "completed"})
        return self._fact(call, collection)

    def _acted(self, call: Call) -> JsonObject:
        """That something was done."""
        document = self._learned.document
        title = document.title or document.name
        rng = self._rng.at("outcome", call.tool.name, written_arguments(call.arguments))
        return outcome(call, self._store.wording, rng, title=title, now=self._store.now)

    def _told_of_one(self, call: Call, collection: Collection, entity: Entity) -> Answer:
        """What a tool says of one entity that it keeps: what it promises, the entity, and what was asked."""
        promise = self._learned.promise(call.tool)
        more = self._facts.told(call, collection, promise) if promise.members else {}
        given = self._members(call, collection.noun)
        return Answer({**more, **self._store.shown(collection, entity), **given})

    def _is_untold(self, call: Call, noun: Noun) -> bool:
        """Nothing says what a tool gives, and nothing is known of such things."""
        is_known = not says_nothing(each.key for each in noun.fields)
        promise = self._learned.promise(call.tool)
        is_told = bool(promise.members) or promise.form not in (None, Form.RECORD, Form.TEXT)
        return not is_known and not is_told and call.tool.output_schema is None

    def _fact(self, call: Call, collection: Collection) -> Answer:
        promise = self._learned.promise(call.tool)
        is_told = call.reading.verb not in (Verb.UPDATE, Verb.DELETE)
        several = one_by_one(call.tool, call.arguments) if is_told else []
        if several:
            calls = [
                Call(tool=tool, reading=self._learned.reading(tool), arguments=arguments)
                for tool, arguments in several
            ]
            rows = [self._facts.told(each, collection, promise) for each in calls]
            return listed(collection.noun, rows)
        is_many = promise.form is Form.LIST or call.reading.is_many or gives_many(call)
        if is_told and is_many and not is_series(call, promise, collection.noun.found):
            return listed(collection.noun, self._facts.rows(call, collection, promise))
        told = self._facts.told(call, collection, promise)
        if is_told and _is_empty(call, told) and call.tool.output_schema is None:
            raise unavailable(call)
        if told.keys() == {"updated"}:  # nothing that is kept changed: it was an act
            return Answer(self._acted(call))
        return Answer(told)

    def _create(self, call: Call, collection: Collection) -> Answer:
        is_placed = bool(call.placed) and call.reading.word in _PLACING
        if call.names_many or (call.own is not None and is_placed):
            return self._put(call, collection)
        many = self._items(call, collection.noun)
        if many is None:
            return Answer(self._made(call, collection, self._members(call, collection.noun), 0))
        shared = {p.name for p in call.fields() if not isinstance(call.arguments[p.name], list)}
        common = {k: v for k, v in self._members(call, collection.noun).items() if k in shared}
        made = [
            self._made(call, collection, {**common, **item}, at) for at, item in enumerate(many)
        ]
        return listed(collection.noun, made)

    def _put(self, call: Call, collection: Collection) -> Answer:
        """Make one entity for each id of a list; those that there are take on what is given."""
        given, noun = self._members(call, collection.noun), collection.noun
        rows: list[JsonObject] = []
        for at, identity in enumerate(call.named):
            entity = collection.entities.get(str(identity))
            if entity is None:
                rows.append(
                    self._made(call, collection, {**given, noun.identity.name: identity}, at)
                )
            else:
                self._store.change(collection, entity, given)
                rows.append(self._store.shown(collection, entity))
        return listed(noun, rows) if call.names_many else Answer(rows[0])

    def _made(self, call: Call, collection: Collection, given: JsonObject, at: int) -> JsonObject:
        if self._store.is_full:
            raise EntityRefusedError("Quota exceeded: no more entries can be stored")
        noun = collection.noun
        own = call.own
        identity = given.get(noun.identity.name)
        if own is not None and not call.names_many:
            identity = call.arguments[own.name]
        identity = None if isinstance(identity, dict | list) else identity
        if identity is not None and str(identity) in collection.entities:
            raise EntityRefusedError(
                f"{noun.name.replace('_', ' ').capitalize()} already exists: {identity}"
            )
        given = {name: value for name, value in given.items() if name != noun.identity.name}
        rng = self._rng.at("made", noun.name, self._store.calls, at)
        entity = self._store.add(collection, rng, given, identity=identity)
        return self._store.shown(collection, entity)

    def _items(self, call: Call, noun: Noun) -> list[JsonObject] | None:
        """Several entities in one argument."""
        for parameter in call.fields():
            value = call.arguments[parameter.name]
            if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
                continue
            is_own = parameter.key not in NESTED
            if (
                value
                and is_own
                and inner_fields(parameter, noun.name, call.tool.input_schema) is not None
            ):
                return [self._renamed(noun, cast("JsonObject", item)) for item in value]
        return None

    def _members(self, call: Call, noun: Noun) -> JsonObject:
        """The properties that the arguments give, under the names that entities show them by."""
        members: JsonObject = {}
        for parameter in call.fields():
            value = call.arguments[parameter.name]
            if parameter.name == call.reading.id_parameter:
                continue
            inner = inner_fields(parameter, noun.name, call.tool.input_schema)
            if inner is not None and isinstance(value, dict):
                members |= self._renamed(noun, value)
            elif call.reading.verb is Verb.CREATE and _is_identity(parameter.key, noun):
                members[noun.identity.name] = value
            else:
                members[noun.name_of(parameter.key.removeprefix("new_"), parameter.name)] = value
        return members

    def _renamed(self, noun: Noun, members: JsonObject) -> JsonObject:
        given = {noun.name_of(key_of(name), name): value for name, value in members.items()}
        return {name: value for name, value in given.items() if value is not None}

    def _shown(self, call: Call, collection: Collection, found: list[Entity]) -> Answer:
        shown = [{**self._store.shown(collection, e), **_in_manner(call, e)} for e in found]
        if call.names_many:
            return listed(collection.noun, shown, {"total": len(shown)})
        return Answer(shown[0])

    def _update(self, call: Call, collection: Collection) -> Answer:
        items = self._items(call, collection.noun) if call.own is None else None
        if items is not None:
            return self._update_all(call, collection, items)
        changes = self._members(call, collection.noun)
        if call.reading.state is not None:
            changes.setdefault(state_of(collection.noun), call.reading.state)
        try:
            found = named_entities(self._store, collection, _addressed(call, collection.noun))
        except EntityRefusedError:
            own = call.own
            if call.reading.word not in _SETTING or own is None or not own.is_scalar:
                raise
            return Answer(self._made(call, collection, changes, 0))
        for entity in found:
            self._store.change(collection, entity, _within(entity.given, changes))
        return self._shown(call, collection, found)

    def _is_narrowed(self, call: Call) -> bool:
        """Say whether what is given leaves out what is not meant: all are meant where nothing is given."""
        return not any(call.fields()) or any(filters_of(call.reading, call.arguments))

    def _update_all(self, call: Call, collection: Collection, items: list[JsonObject]) -> Answer:
        """Change each of several entities; a tool that sets makes those that there are not."""
        rows: list[JsonObject] = []
        noun = collection.noun
        for at, item in enumerate(items):
            identity = item.get(noun.identity.name)
            entity = collection.entities.get(str(identity))
            if entity is None and call.reading.word in _SETTING:
                rows.append(self._made(call, collection, item, at))
                continue
            entity = entity or described(self._store, collection, item)
            self._store.change(collection, entity, _within(entity.given, item))
            rows.append(self._store.shown(collection, entity))
        return listed(noun, rows)

    def _delete(self, call: Call, collection: Collection) -> Answer:
        of_items = self._of_items(call, collection)
        if of_items is not None:
            found = of_items
        elif call.own is None and call.reading.is_many and self._is_narrowed(call):
            found = self._listing.all_that_fit(call, collection)
        else:
            found = named_entities(self._store, collection, call)
        for entity in found:
            self._store.remove(collection, entity)
        name, ids = collection.noun.identity.name, [entity.identity for entity in found]
        is_many = call.reading.is_many if call.own is None else call.names_many
        told: JsonObject = {"ids": ids, "count": len(ids)} if is_many else {name: ids[0]}
        return Answer({"deleted": True, **told}, {"success": True})


def _addressed(call: Call, noun: Noun) -> Call:
    """A change without an identifier is about what the arguments say that others look up by, too.

    Where there are no such ones, it is about the newest entity of those that it refers to.
    """
    if call.own is not None:
        return call
    kept = {
        p.name: call.arguments[p.name]
        for p in call.fields()
        if p.name in call.reading.references or p.key in noun.address
    }
    return Call(tool=call.tool, reading=call.reading, arguments=kept)


def _within(given: JsonObject, changes: JsonObject) -> JsonObject:
    """Changes of which those of members that callers name leave the others of these."""
    result = dict(changes)
    for name, value in changes.items():
        before = given.get(name)
        if key_of(name) in NESTED and isinstance(value, dict) and isinstance(before, dict):
            result[name] = {**before, **value}
    return result


def _in_manner(call: Call, entity: Entity) -> JsonObject:
    """In which currency, units or language a call asks for what the server tells of, but does not keep."""
    if entity.is_known:
        return {}
    fields = (p for p in call.fields() if p.key in _MANNERS and p.is_scalar)
    return {p.name: call.arguments[p.name] for p in fields}


def _is_whole(call: Call) -> bool:
    """``read_graph`` shows all that a server keeps."""
    is_graph = (call.reading.noun or "").rpartition("_")[2] == "graph"
    return call.reading.verb is Verb.GET and is_graph and not any(call.fields())


_MAX_ECHOED: Final = 1000


def _echoed(call: Call) -> JsonObject:
    """The arguments, as tools that take note of them give them back."""
    given = {p.name: call.arguments.get(p.name) for p in call.reading.parameters}
    return {
        name: value
        for name, value in given.items()
        if value is not None and len(canonical_json(value)) <= _MAX_ECHOED
    }


def _is_empty(call: Call, told: JsonObject) -> bool:
    """Say whether an answer has nothing that the call did not say itself."""
    said = [canonical_json(value) for value in call.arguments.values() if value is not None]
    return all(name == "id" or canonical_json(value) in said for name, value in told.items())


def _is_identity(key: str, noun: Noun) -> bool:
    of = key_suffix(key)[0]
    is_own = of in ("", noun.name, noun.name.rpartition("_")[2])
    return (
        is_own and noun.identity.key != "id" and attribute_of(key, noun.name) == noun.identity.key
    )


_MAX_LEARNED: Final = 1024
"""Of so many versions it is remembered what was learned."""


class OfflineEmulator:
    """Opens the states of any number of servers."""

    kind = EmulatorKind.OFFLINE

    def __init__(self) -> None:
        """Begin without having learned anything."""
        self._learned: OrderedDict[str, _Known] = OrderedDict()

    def open_state(
        self, document: EmulatedDocument, *, seed: int, prompt: str | None = None
    ) -> "OfflineState":
        """Begin a session; nothing is read before its first call, and the prompt decides nothing."""
        del prompt
        learned = self._learned.get(document.version)
        if learned is None:
            learned = self._learned[document.version] = _Known(document)
        self._learned.move_to_end(document.version)
        if len(self._learned) > _MAX_LEARNED:
            self._learned.popitem(last=False)
        return OfflineState(learned, seed=seed)


class OfflineState:
    """One session's entities, and the calls so far."""

    def __init__(self, known: "_Known", *, seed: int) -> None:
        """Begin with what the documents say; nothing is made up yet."""
        learned = self._learned = known.learned
        self._rng = RandomStream.of_seed(derive_seed(seed, "offline", learned.document.version))
        self._store = Store(learned, self._rng)
        self._answering = _Answering(known, self._store, self._rng)

    async def answer(self, tool: ToolSpec, arguments: Mapping[str, JsonValue]) -> EmulatedAnswer:
        """Answer a call, and keep what it did."""
        try:
            value = self._value(tool, arguments)
        except EntityRefusedError as refusal:
            self._store.rollback()
            self._store.calls += 1
            return EmulatedAnswer(value=str(refusal), is_error=True)
        except (NoValueError, SchemaError, UnmetError) as error:
            self._store.rollback()
            raise UpstreamError(f"{tool.name} cannot be answered: {error}") from error
        except BaseException:
            self._store.rollback()
            raise
        self._store.commit()
        self._store.calls += 1
        return EmulatedAnswer(value=value)

    async def restore(self, past: Sequence[PastCall]) -> None:
        """Make the applied calls of an earlier life again; others have their turn in between."""
        for call in past:
            await checkpoint()
            if call.outcome is CallOutcome.APPLIED:
                await self.answer(self._learned.tools[call.tool], call.arguments)

    def _value(self, tool: ToolSpec, arguments: Mapping[str, JsonValue]) -> JsonValue:
        tool = with_given(self._learned.tools[tool.name], arguments)
        call = Call(tool=tool, reading=self._learned.reading(tool), arguments=arguments)
        answer = self._answering.told(call)
        maker = self._learned.output(tool)
        rng = self._rng.at("output", tool.name, written_arguments(arguments))
        if maker is None and answer.text is not None:
            return answer.text
        if maker is None:
            return formed(self._learned.promise(tool), answer.shown, call, rng)
        noun = call.reading.noun or ""
        shown = self._store.wording.portrait(noun, rng)
        return maker.fill(rng, self._store.wording, told=answer.known, noun=noun, portrait=shown)
