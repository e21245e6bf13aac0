"""What cannot be computed is refused in words, what is no computation is left alone, and all costs are bounded."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_mcp.seeds import derive_seed
from servers.emulated.offline.computing.subjects.patterns import Pattern, PatternRefusedError

from emulated_worlds import World, document_of, spec, text

number: dict[str, Any] = {"type": "number"}
numbers: dict[str, Any] = {"type": "array", "items": number}
matrix: dict[str, Any] = {"type": "array", "items": numbers}


def alone(tool: str, description: str = "", /, **parameters: Any) -> World:
    return World(document_of(spec(tool, description, optional=(), **parameters)))


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("9**9**9", "out of range"),
        ("9**9**9**9", "out of range"),
        ("10**8000 * 10**8000", "out of range"),
        ("factorial(100000)", "out of range"),
        ("1/0", "Division by zero"),
        ("5 % 0", "Division by zero"),
        ("1e308 * 10", "out of range"),
        ("(" * 400 + "1" + ")" * 400, "Invalid expression"),
        ("-" * 100 + "1", "nested too deeply"),
        ("1+" * 300 + "1", "too many parts"),
        ("1" * 2000, "longer than"),
        ("__import__('os').system('ls')", "Invalid expression"),
        ("().__class__", "Invalid expression"),
        ("[x for x in (1,2)]", "Invalid expression"),
        ("'a' * 9", "Invalid expression"),
        ("true + 1", "Invalid expression"),
        ("open(1)", "no function open"),
        ("sqrt(-1)", "negative"),
        ("(-8) ** 0.5", "not a real number"),
        ("max()", "Invalid expression"),
        ("", "Invalid expression"),
    ],
)
def test_an_expression_beyond_reach_is_refused_at_once(expression: str, said: str) -> None:
    world = alone("calculate", expression=text)
    assert said in world.refusal("calculate", expression=expression)


@settings(max_examples=60)
@given(expression=st.text("0123456789.+-*/()%^ esqrtpi,", max_size=60))
def test_any_expression_has_an_answer_or_a_refusal(expression: str) -> None:
    answer: Any = alone("evaluate", expression=text).ask("evaluate", expression=expression)
    assert answer.is_error or isinstance(answer.value["result"], int | float | str)


@pytest.mark.parametrize(
    ("tool", "parameters", "arguments", "said"),
    [
        ("divide", {"a": number, "b": number}, {"a": 1, "b": 0}, "Division by zero"),
        ("sqrt", {"x": number}, {"x": -4}, "negative"),
        ("log", {"x": number}, {"x": 0}, "positive"),
        ("mean", {"numbers": numbers}, {"numbers": []}, "empty"),
        ("factorial", {"n": number}, {"n": -1}, "negative"),
        ("factorial", {"n": text}, {"n": "many"}, "Invalid value for n: 'many' is not a number"),
        ("factorial", {"n": number}, {"n": 2.5}, "not a whole number"),
        ("power", {"base": number, "exponent": number}, {"base": 99, "exponent": 1e9}, "out of range"),
        ("inverse_matrix", {"matrix": matrix}, {"matrix": [[1, 2], [2, 4]]}, "singular"),
        ("determinant", {"matrix": matrix}, {"matrix": [[1, 2]]}, "not square"),
        ("dot_product", {"a": numbers, "b": numbers}, {"a": [1], "b": [1, 2]}, "equally long"),
        ("int_to_roman", {"num": number}, {"num": 4000}, "1 to 3999"),
        ("roman_to_int", {"roman": text}, {"roman": "IIII"}, "Invalid Roman numeral"),
        ("base64_decode", {"text": text}, {"text": "%%%"}, "Invalid Base64"),
        ("format_json", {"json": text}, {"json": "{"}, "Invalid JSON"),
        ("format_json", {"json": text}, {"json": "[" * 90_000}, "Invalid JSON"),
        ("add_days", {"date": text, "days": number}, {"date": "2024-13-01", "days": 1}, "Invalid date"),
        ("add_days", {"date": text, "days": number}, {"date": "9999-12-31", "days": 1}, "out of range"),
        ("get_current_time", {"timezone": text}, {"timezone": "Mars/Base"}, "Invalid time zone"),
        ("roll_dice", {"notation": text}, {"notation": "9999d9"}, "between 1 and 1000"),
        ("random_number", {"min": number, "max": number}, {"min": 9, "max": 1}, "greater than"),
        ("celsius_to_fahrenheit", {"celsius": number}, {"celsius": -300}, "absolute zero"),
    ],
)  # fmt: skip
def test_nonsense_is_refused_as_a_real_api_does(
    tool: str, parameters: dict[str, Any], arguments: dict[str, Any], said: str
) -> None:
    assert said in alone(tool, **parameters).refusal(tool, **arguments)


def test_units_that_do_not_exist_or_do_not_go_together_are_refused() -> None:
    taken: Any = {"value": number, "from_unit": text, "to_unit": text}
    world = alone("convert_units", **taken)
    assert "Invalid unit: parsec" in world.refusal(
        "convert_units", value=1, from_unit="parsec", to_unit="m"
    )
    said = world.refusal("convert_units", value=1, from_unit="kg", to_unit="miles")
    assert said == "Invalid input: cannot convert kilogram (mass) to mile (length)"


def test_what_only_looks_like_a_computation_is_left_to_others() -> None:
    looks: tuple[tuple[str, Any, Any], ...] = (
        ("add_task", {"title": text}, {"title": "sum"}),
        ("add_numbers_to_contact", {"numbers": numbers}, {"numbers": [1, 2]}),
        ("convert_currency", {"amount": number, "from": text, "to": text}, {"amount": 2, "from": "USD", "to": "EUR"}),
        ("get_product", {"product_id": text}, {"product_id": "12"}),
        ("calculate_average_price", {"symbol": text}, {"symbol": "ACME"}),
        ("sort_files", {"path": text}, {"path": "/a"}),
        ("reverse_geocode", {"lat": number, "lon": number}, {"lat": 1, "lon": 2}),
        ("length_of_stay", {"guest": text}, {"guest": "Ada"}),
    )  # fmt: skip
    for tool, parameters, arguments in looks:
        told: Any = alone(tool, **parameters).ask(tool, **arguments).value
        assert isinstance(told, str) or told.get("result") not in (3, 2, 12, "mus", 6)


def test_an_argument_that_a_computation_does_not_know_leaves_it_to_others() -> None:
    tool = spec("sum", optional=("currency",), numbers=numbers, currency=text)
    world = World(document_of(tool))
    assert world.call("sum", numbers=[1, 2])["result"] == 3
    assert world.call("sum", numbers=[1, 2], currency="EUR").get("result") != 3


@pytest.mark.parametrize("member", ["sum", "answer", "total_value"])
def test_a_result_stands_where_the_tool_declares_it(member: str) -> None:
    shown = {"type": "object", "properties": {member: number, "status": text}, "required": [member]}
    world = World(document_of(spec("add", output=shown, a=number, b=number)))
    assert world.call("add", a=2, b=40)[member] == 42


def test_the_way_to_compute_is_read_off_the_description() -> None:
    assert (
        alone("hash_text", "SHA-1 digest.", text=text).call("hash_text", text="a")["algorithm"]
        == "sha1"
    )
    degrees = alone("sine", "Sine of an angle in degrees.", angle=number)
    assert degrees.call("sine", angle=30)["result"] == pytest.approx(0.5)


def test_an_argument_may_say_what_to_do() -> None:
    taken: Any = {"operation": {"enum": ["add", "*", "divide"]}, "a": number, "b": number}
    world = alone("calculator", **taken)
    assert world.call("calculator", operation="*", a=6, b=7)["result"] == 42
    assert world.call("calculator", operation="add", a=6, b=7)["result"] == 13
    assert world.refusal("calculator", operation="divide", a=6, b=0) == "Division by zero"


def test_times_are_those_of_the_session() -> None:
    taken: Any = {"source_timezone": text, "time": text, "target_timezone": text}
    world = World(
        document_of(
            spec("get_current_time", timezone=text), spec("convert_time", optional=(), **taken)
        )
    )
    first = world.call("get_current_time", timezone="UTC")["datetime"]
    assert world.call("get_current_time", timezone="UTC")["datetime"] > first
    told = world.call(
        "convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Kolkata"
    )
    assert told["target"]["datetime"].endswith("17:30:00+05:30")


def test_throws_differ_from_call_to_call_and_not_from_life_to_life() -> None:
    document = document_of(spec("roll_dice", sides=number, count=number), spec("generate_uuid"))
    first, second = (
        World(document, seed=derive_seed(1, "x")),
        World(document, seed=derive_seed(1, "x")),
    )
    rolls = [first.call("roll_dice", sides=6, count=50)["rolls"] for _ in range(2)]
    assert rolls[0] != rolls[1]
    assert {roll for row in rolls for roll in row} == {1, 2, 3, 4, 5, 6}
    assert rolls == [second.call("roll_dice", sides=6, count=50)["rolls"] for _ in range(2)]


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(.*a){20}b"])
def test_a_pattern_that_is_made_to_be_costly_is_matched_or_refused_in_bounded_steps(
    pattern: str,
) -> None:
    world = alone("regex_match", text=text, pattern=text)
    answer: Any = world.ask("regex_match", text="a" * 2000, pattern=pattern)
    assert answer.is_error or answer.value["is_match"] is False


@pytest.mark.parametrize("pattern", ["(", "a(?=b)", r"(a)\1", "a" * 501, "((a{99}){99}){99}"])
def test_a_pattern_that_cannot_be_followed_is_refused(pattern: str) -> None:
    with pytest.raises(PatternRefusedError):
        Pattern(pattern)


def test_a_word_that_all_names_begin_with_may_be_the_verb_or_the_server() -> None:
    taken: Any = {"value": number, "from_unit": text, "to_unit": text}
    kinds = ("convert_length", "convert_weight", "convert_temperature")
    world = World(document_of(*(spec(kind, optional=(), **taken) for kind in kinds)))
    assert world.call("convert_weight", value=1, from_unit="kg", to_unit="g")["result"] == 1000
    both: Any = {"a": number, "b": number}
    sums = World(
        document_of(
            *(spec(f"acme_{word}", optional=(), **both) for word in ("add", "subtract", "divide"))
        )
    )
    assert sums.call("acme_subtract", a=5, b=3)["result"] == 2


def test_a_list_of_other_things_is_no_list_of_numbers() -> None:
    listing = spec(
        "products_list", optional=("properties",), properties={"type": "array", "items": text}
    )
    assert "products" in World(document_of(listing)).call("products_list", properties=["name"])
