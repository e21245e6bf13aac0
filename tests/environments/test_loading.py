"""Loading names every fault of a bundle by file and field."""

import json
import shutil
from pathlib import Path

import pytest

from astra_mcp.environments.bundle import GoldCall, ScenarioType
from astra_mcp.environments.loading import MAX_CODE_BYTES, load_bundle
from astra_mcp.errors import BundleError, UnknownNameError

from workshop import (
    AUTHOR,
    BRANDT,
    SENDA,
    Change,
    Document,
    Workshop,
    both,
    calling,
    carrying,
    put,
    remove,
)


def faults_of(path: Path) -> str:
    with pytest.raises(BundleError) as caught:
        load_bundle(path)
    return "\n".join(caught.value.faults)


@pytest.mark.claim("P1")
def test_the_starting_bundle_loads(workshop: Workshop) -> None:
    bundle = load_bundle(workshop.path)
    assert bundle.name == "small-library"
    assert [(i.id, i.answer, i.tools) for i in bundle.job] == [
        (1, "BK-9038", ("find_book",)),
        (2, "2026-02-17", ("get_due_date",)),
    ]
    assert bundle.document.gold[0].values == {"author": "Ida Moreau", "format": "large print"}


def test_the_job_names_what_all_gold_calls_of_a_tool_mark_as_modifying(workshop: Workshop) -> None:
    modifying, identifying = ({"value": 1, "role": r} for r in ("modifying", "identifying"))
    members = {"sort": {"role": "modifying"}, "by": {"role": "identifying"}}
    of_object = {"value": {}, "role": "identifying", "members": members}
    calls = [
        {"page": modifying, "format": modifying, "filter": of_object},
        {"page": modifying, "format": identifying, "filter": of_object, "unit": modifying},
    ]
    gold = [
        GoldCall.model_validate({"tool": "find_book", "arguments": a, "solves": [1]}) for a in calls
    ]
    bundle = load_bundle(workshop.path)
    document = bundle.document.model_copy(update={"gold": (*gold, bundle.document.gold[1])})
    first, second = bundle.model_copy(update={"document": document}).job
    assert first.modifying == {"find_book": ("filter.sort", "page")}
    assert second.modifying == {}


def test_the_hash_sees_the_document_and_the_code(workshop: Workshop) -> None:
    before = load_bundle(workshop.path).content_hash
    assert load_bundle(workshop.path).content_hash == before
    workshop.replace_code("Nine Bridges", "Ten Bridges")
    changed_code = load_bundle(workshop.path).content_hash
    workshop.change_document(put("title", "Another title"))
    assert len({before, changed_code, load_bundle(workshop.path).content_hash}) == 3


def test_a_further_question_is_asked_of_the_same_world(workshop: Workshop) -> None:
    alone = load_bundle(workshop.path)
    assert "questions" not in alone.document.model_dump()  # its bytes, and so its hash, stay
    workshop.change_document(carrying(BRANDT, SENDA))
    bundle = load_bundle(workshop.path)
    asked = bundle.asking("senda-audio")
    assert alone.content_hash != bundle.content_hash == asked.content_hash
    assert [i.answer for i in asked.job] == ["BK-5820", "2026-02-20"]
    assert (asked.document.question, asked.code) == (SENDA["question"], bundle.code)
    assert [one.question_id for one in bundle.asked] == [None, "brandt-audio", "senda-audio"]
    with pytest.raises(UnknownNameError, match="did you mean senda-audio"):
        bundle.asking("senda")


FORMAT = "tools.0.input_schema.properties.format"
THIRD: Document = {
    "id": 3,
    "question": "Which of the two?",
    "answer": "The second one",
    "hop_level": 2,
    "is_parallel": True,
    "dependencies": [1],
    "tool": None,
}

DOCUMENT_FAULTS: list[tuple[Change, str]] = [
    (put("schema_version", 2), "schema_version: 2 is newer than 1"),
    (put("schema_version", "1"), "schema_version: must be 1"),
    (put("name", "Small Library"), "name: must be lower-case words joined by hyphens"),
    (put("name", "other-library"), "name: is 'other-library', but the folder is 'small-library'"),
    (put("surprise", 1), "surprise: there is no such field"),
    (put("domain", "libraries"), "domain: must be "),
    (put("language", "de"), "language: must be 'en' or 'zh'"),
    (put("version", "1"), "version: must be three numbers"),
    (put("clock", "2026-01-05T09:00:00"), "clock: has no time zone"),
    (put("provenance", {}), "provenance.source: is missing"),
    (remove("question"), "question: is missing"),
    (remove("answer"), "answer: is required of a verified environment"),
    (remove("scenario_type"), "scenario_type: is required of a verified environment"),
    (remove("gold"), "gold: is required of a verified environment"),
    (remove("sub_tasks.0.question"), "sub_tasks[0].question: is required of a verified"),
    (remove("sub_tasks.1.hop_level"), "sub_tasks[1].hop_level: is required of a verified"),
    (remove("sub_tasks.1.is_parallel"), "sub_tasks[1].is_parallel: is required of a verified"),
    (put("sub_tasks", []), "sub_tasks: must not be empty"),
    (put("question", " "), "question: is blank"),
    (put("answer", "\u2003"), "environment.json: answer: is blank"),
    (put("sub_tasks.0.question", " "), "sub_tasks[0].question: is blank"),
    (put("sub_tasks.0.answer", " "), "sub_tasks[0].answer: is blank"),
    (put("sub_tasks.0.hop_level", "1"), "sub_tasks[0].hop_level: must be an integer"),
    (put("sub_tasks.0.id", 0), "sub_tasks[0].id: must be at least 1"),
    (put("clock", "tomorrow"), "clock: must be a day and time"),
    # decomposition
    (put("sub_tasks.1.id", 1), "sub_tasks[1].id: 1 is also the id of sub_tasks[0]"),
    (put("sub_tasks.1.dependencies", [9]), "sub_tasks[1].dependencies: there is no sub-task 9"),
    (put("sub_tasks.1.dependencies", [2]), "sub-task 2 depends on itself"),
    (put("sub_tasks.1.dependencies", [1, 1]), "1 stands there 2 times"),
    (put("sub_tasks.0.dependencies", [2]), "sub_tasks: the dependencies of [1, 2] form a cycle"),
    (
        put("sub_tasks.1.hop_level", 3),
        "sub_tasks[1].hop_level: is 3, but the dependencies make it 2",
    ),
    (put("sub_tasks.1.is_parallel", True), "sub_tasks[1].is_parallel: must be false"),
    (put("sub_tasks.0.tool", None), "sub_tasks[0].tool: only a leaf may go without a tool"),
    (put("scenario_type", "Single-Hop"), "scenario_type: Single-Hop has exactly one sub-task"),
    (
        put("scenario_type", "Parallel Single-Hop"),
        "Parallel Single-Hop has one hop level, but there are 2",
    ),
    (
        put("scenario_type", "Parallel Multi-Hop"),
        "Parallel Multi-Hop has several sub-tasks on some",
    ),
    (
        calling("sub_tasks", "append", lambda _: THIRD),
        "Multi-Hop never has two sub-tasks on a hop level",
    ),
    (
        calling("sub_tasks", "append", lambda _: {**THIRD, "is_parallel": False}),
        "sub_tasks[2].is_parallel: must be true",
    ),
    # tools
    (put("tools.1.name", "find_book"), "tools[1].name: 'find_book' is also the name of tools[0]"),
    (put("tools.0.name", "find book"), "tools[0].name: 'find book' must be 1 to 64 letters"),
    (put("tools.0.name", "find-book"), "tools[0].name: 'find-book' must be the name of a public"),
    (put("tools.0.description", " "), "tools[0].description: is empty"),
    (put("sub_tasks.0.tool", "look"), "sub_tasks[0].tool: there is no tool 'look'"),
    (put("tools.0.input_schema.type", "array"), "tools[0].input_schema: type: must be 'object'"),
    (remove("tools.0.input_schema.properties"), "tools[0].input_schema: properties: must be there"),
    (put(f"{AUTHOR}.type", "text"), "tools[0].input_schema: properties.author.type"),
    (
        put("tools.0.input_schema.additionalProperties", True),
        "tools[0].input_schema.additionalProperties: must be false or left out",
    ),
    (
        put("tools.0.input_schema.patternProperties", {"^x": {}}),
        "tools[0].input_schema.patternProperties: cannot be used",
    ),
    (put(AUTHOR, {}), "properties.author: says nothing about its values"),
    (put(AUTHOR, True), "properties.author: must be an object"),
    (put(f"{AUTHOR}.examples", [5]), "properties.author.examples[0]: 5 is not valid"),
    (put(f"{FORMAT}.default", "scroll"), "properties.format.default: 'scroll' is not valid"),
    (put("tools.0.input_schema.required", ["writer"]), "required: 'writer' is not among"),
    (put("tools.0.output_schema", {"type": "text"}), "tools[0].output_schema: type"),
    # gold calls
    (put("gold.0.tool", "look"), "gold[0].tool: there is no tool 'look'"),
    (put("gold.0.solves", []), "gold[0].solves: must not be empty"),
    (put("gold.0.solves", [7]), "gold[0].solves: there is no sub-task 7"),
    (put("gold.0.solves", [2]), "sub-task 2 belongs to tool 'get_due_date', not 'find_book'"),
    (put("gold.1.arguments.numbr", {"value": "x", "role": "modifying"}), "did you mean 'number'?"),
    (remove("gold.1.arguments.number"), "gold[1].arguments: argument 'number' is required"),
    (put("gold.1.arguments.number.value", "9038"), "gold[1].arguments: argument 'number'"),
    (put("gold.1.arguments.number.role", "other"), "number.role: must be 'identi"),
    (put("gold.1.arguments.number.neighbours", ["x"]), "number.neighbours[0]: argument 'number'"),
    (
        put("gold.1.arguments.number.neighbours", ["BK-9038"]),
        "number.neighbours[0]: equals the gold value",
    ),
    (
        put("gold.0.arguments.author.neighbours", ["ida MOREAU "]),
        "author.neighbours[0]: equals the gold value, but for case and space",
    ),
    (calling("gold", "pop"), "gold: no gold call solves sub-task 2; add one with 'get_due_date'"),
    (
        calling("gold", "reverse"),
        "gold[0].solves: sub-task 2 needs [1], which no earlier call solves",
    ),
    (
        calling("gold", "append", lambda d: d["gold"][1]),
        "gold[2].solves: solves nothing that earlier calls did not",
    ),
    # further questions
    *(
        (both(carrying(BRANDT, SENDA), change), f"questions[1].{fault}")
        for change, fault in (
            (remove("questions.1.id"), "id: is missing"),
            (put("questions.1.id", "Q 2"), "id: must be lower-case words joined by hyphens"),
            (put("questions.1.id", "brandt-audio"), "id: 'brandt-audio' is also the id of quest"),
            (remove("questions.1.answer"), "answer: is required of a verified environment"),
            (put("questions.1.sub_tasks.0.question", " "), "sub_tasks[0].question: is blank"),
            (put("questions.1.sub_tasks.0.tool", "look"), "sub_tasks[0].tool: there is no tool"),
            (put("questions.1.scenario_type", "Single-Hop"), "scenario_type: Single-Hop has"),
            (
                put("questions.1.gold.0.arguments.author.value", 5),
                "gold[0].arguments: argument 'author'",
            ),
        )
    ),
]


@pytest.mark.claim("P2")
@pytest.mark.parametrize(("change", "fault"), DOCUMENT_FAULTS, ids=[f for _, f in DOCUMENT_FAULTS])
def test_a_fault_of_the_document_is_named(workshop: Workshop, change: Change, fault: str) -> None:
    workshop.change_document(change)
    named = [line for line in faults_of(workshop.path).splitlines() if fault in line]
    assert named
    assert all(line.startswith("environment.json: ") for line in named)


PARAMETERS = "number: str, renewed: bool = False"
PARAMETER_FAULTS = [
    (
        "number: str, day: str, renewed: bool = False",
        "get_due_date.day: the document does not declare",
    ),
    ("number: str, renewed: bool = False, **rest", "get_due_date: must not take *rest"),
    ("number: str, renewed: bool = False, *rest", "get_due_date: must not take *rest"),
    ("number: str, /, renewed: bool = False", "must not have positional-only parameters"),
    ("number: str", "get_due_date.renewed: the document declares this parameter"),
    ("number: str, renewed: bool = True", "has the default True, but its schema says False"),
    ("number: str, renewed: bool = 0", "has the default 0, but its schema says False"),
    ("number: str, renewed: bool = bool()", "its default must be a literal"),
    ("renewed: bool, number: str", "renewed: is optional in the document"),
    (
        "number: str = 'BK-1', renewed: bool = False",
        "number: is required in the document, but has a",
    ),
    (
        "number: int, renewed: bool = False",
        "number: is annotated int, but its schema says ['string']",
    ),
]
CODE_FAULTS = [
    *((PARAMETERS, parameters, fault) for parameters, fault in PARAMETER_FAULTS),
    ("def get_due_date", "def due_date", "tools.py: get_due_date: define a top-level function"),
    (
        "def get_due_date",
        "async def get_due_date",
        "get_due_date: must be a plain function, not async",
    ),
    ("def get_due_date", "@staticmethod\ndef get_due_date", "get_due_date: must not be decorated"),
    ("BOOKS = {", "get_due_date = None\nBOOKS = {", "get_due_date: is bound more than once"),
    ("BOOKS = {", "BOOKS = {{", "tools.py: line"),
    ("BOOKS = {", f"X = {'-' * 200_000}1\nBOOKS = {{", "tools.py: nests too deeply"),
    ("BOOKS = {", "X = '\0'\nBOOKS = {", "tools.py:"),
]


@pytest.mark.parametrize(("old", "new", "fault"), CODE_FAULTS, ids=[f for _, _, f in CODE_FAULTS])
def test_a_fault_of_the_code_is_named_without_running_it(
    workshop: Workshop, old: str, new: str, fault: str
) -> None:
    workshop.replace_code(old, new)
    assert fault in faults_of(workshop.path)


def test_code_is_never_executed(workshop: Workshop, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    workshop.replace_code(
        "import datetime as dt", f"import datetime as dt\nopen({str(mark)!r}, 'w')"
    )
    load_bundle(workshop.path)
    assert not mark.exists()


SERVER_FAULTS = [
    (remove("version"), "server.json: version: must be a text of 1 to 255 characters"),
    (put("version", "1.0.1"), "version: is '1.0.1', but environment.json says '1.0.0'"),
    (
        put("description", "x" * 101),
        "description: must be a text of 1 to 100 characters, but has 101",
    ),
    (
        put("name", "small-library"),
        "name: 'small-library' must look like example.org/small-library",
    ),
    (put("title", ""), "title: must be a text"),
    (put("homepage", "x"), "homepage: the format has no such field"),
]


@pytest.mark.parametrize(("change", "fault"), SERVER_FAULTS, ids=[f for _, f in SERVER_FAULTS])
def test_a_fault_of_the_server_document_is_named(
    workshop: Workshop, change: Change, fault: str
) -> None:
    workshop.change_server(change)
    assert fault in faults_of(workshop.path)


@pytest.mark.parametrize("name", ["environment.json", "tools.py", "server.json"])
def test_a_file_that_is_not_utf8_or_is_missing_is_named(workshop: Workshop, name: str) -> None:
    (workshop.path / name).write_bytes(b"\xff\xfe{")
    assert f"{name}: is not UTF-8 (byte 0)" in faults_of(workshop.path)
    (workshop.path / name).unlink()
    assert f"{name}: is missing" in faults_of(workshop.path)


def test_a_file_that_is_too_large_is_not_read(workshop: Workshop) -> None:
    with (workshop.path / "tools.py").open("r+b") as file:
        file.truncate(MAX_CODE_BYTES + 1)
    assert f"the limit is {MAX_CODE_BYTES}" in faults_of(workshop.path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert "there is no such folder" in faults_of(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "environment.json: line 1 column 2: is not JSON"),
        ("[]", "environment.json: must hold one JSON object"),
        ('{"a": 1, "a": 2}', "the key 'a' stands twice"),
        ('{"a": NaN}', "NaN is not JSON"),
        ("[" * 100_000, "environment.json: nests too deeply"),
        ('{"a": "\\ud800"}', "holds a value that JSON cannot carry"),
        ('{"a": 1e400}', "environment.json: "),
    ],
)
def test_text_that_is_not_sound_json_is_refused(workshop: Workshop, text: str, fault: str) -> None:
    (workshop.path / "environment.json").write_text(text, encoding="utf-8")
    assert fault in faults_of(workshop.path)


def test_all_faults_are_reported_together(workshop: Workshop) -> None:
    workshop.change_document(put("sub_tasks.1.hop_level", 4))
    workshop.change_server(put("version", "9.9.9"))
    workshop.replace_code("renewed: bool = False", "renewed: bool = True")
    faults = faults_of(workshop.path)
    assert all(f"{name}: " in faults for name in ("environment.json", "server.json", "tools.py"))


def test_an_unverified_bundle_needs_neither_graph_nor_gold(workshop: Workshop) -> None:
    optional = ("question", "hop_level", "is_parallel", "dependencies")
    gone = [f"sub_tasks.{place}.{name}" for place in (0, 1) for name in optional]
    changes = map(remove, ("answer", "scenario_type", "gold", *gone))
    workshop.change_document(both(put("status", "unverified"), *changes))
    bundle = load_bundle(workshop.path)
    assert bundle.document.gold == ()
    assert len(bundle.job) == 2


@pytest.mark.claim("P4")
def test_a_tool_free_leaf_stays_out_of_the_job(workshop: Workshop) -> None:
    leaf = {**THIRD, "hop_level": 3, "is_parallel": False, "dependencies": [2]}
    workshop.change_document(lambda d: d["sub_tasks"].append(leaf))
    bundle = load_bundle(workshop.path)
    assert len(bundle.document.sub_tasks) == 3
    assert [i.id for i in bundle.job] == [1, 2]


def _chain(widths: list[int]) -> list[Document]:
    """Sub-tasks in levels of these widths; each needs all of the level before."""
    rows: list[Document] = []
    before: list[int] = []
    for level, width in enumerate(widths, start=1):
        ids = [len(rows) + i + 1 for i in range(width)]
        place = {"hop_level": level, "is_parallel": width > 1, "dependencies": before}
        rows += [{**THIRD, **place, "id": i, "tool": "find_book"} for i in ids]
        before = ids
    return rows


@pytest.mark.parametrize(
    ("widths", "fitting"),
    [
        ([1], {ScenarioType.SINGLE_HOP}),
        ([2], {ScenarioType.PARALLEL_SINGLE_HOP}),
        ([20], {ScenarioType.PARALLEL_SINGLE_HOP}),
        ([21], set[ScenarioType]()),
        ([1, 1], {ScenarioType.MULTI_HOP}),
        ([1] * 20, {ScenarioType.MULTI_HOP}),
        ([1] * 21, set[ScenarioType]()),
        ([1, 2], {ScenarioType.PARALLEL_MULTI_HOP}),
        ([3, 1, 2], {ScenarioType.PARALLEL_MULTI_HOP}),
        ([10, 11], set[ScenarioType]()),
    ],
)
@pytest.mark.claim("P3")
def test_each_shape_fits_one_scenario_type_at_most(
    workshop: Workshop, widths: list[int], fitting: set[ScenarioType]
) -> None:
    accepted: set[ScenarioType] = set()
    refused: list[str] = []
    chain = put("sub_tasks", _chain(widths))
    workshop.change_document(both(put("status", "unverified"), put("gold", []), chain))
    for scenario in ScenarioType:
        workshop.change_document(put("scenario_type", scenario.value))
        try:
            load_bundle(workshop.path)
        except BundleError as error:
            refused += error.faults
        else:
            accepted.add(scenario)
    assert all("scenario_type" in fault for fault in refused)
    assert accepted == fitting


def test_a_document_survives_a_round_trip_and_its_bundle_may_be_given_by_a_relative_path(
    workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = load_bundle(workshop.path)
    copy = tmp_path / "copy" / bundle.name
    shutil.copytree(workshop.path, copy)
    text = json.dumps(bundle.document.model_dump(mode="json"))
    (copy / "environment.json").write_text(text, encoding="utf-8")
    monkeypatch.chdir(copy)
    assert load_bundle(Path()) == bundle
