"""Whoever speaks to a server behind the gateway is answered as by the server itself, in both eras."""

from collections import Counter
from pathlib import Path

import pytest

from conformance_client import CLIENT_SCENARIOS, faults_of_client, run_client
from conformance_run import BARE, EXPECTED_FAILURES, LegResult, faults_of, run_leg
from conformance_suites import SUITES, Check, Outcome, Suite
from conformance_verdict import (
    Expectation,
    check_expectations,
    faults_behind_gateway,
    faults_of_bare,
    missing_calls,
    read_expectations,
)

SUITE = Suite(name="a suite", version="1", choice=(), reference=2)
TEXT, ECHO, SEE = (Check(name, name, name, 0) for name in ("text", "echo", "see"))


def outcome(*passed: Check, failed: tuple[Check, ...] = (), exit_code: int = 0) -> Outcome:
    return Outcome(
        passed=frozenset(passed),
        failed=frozenset(failed),
        unscored=frozenset({"see"}),
        exit_code=exit_code,
        said=dict.fromkeys(failed, "it is empty"),
    )


def expecting(check: str, reason: str = "it stands") -> Expectation:
    return Expectation(suite=SUITE.name, check=check, reason=reason)


@pytest.fixture(scope="session")
def bare_leg(tmp_path_factory: pytest.TempPathFactory) -> LegResult:
    return run_leg(BARE, tmp_path_factory.mktemp("conformance") / "bare")


@pytest.mark.foreign
@pytest.mark.timeout(600)  # installs the suites where nobody has yet
def test_the_fixture_itself_conforms(bare_leg: LegResult) -> None:
    assert faults_of({BARE: bare_leg}, read_expectations(EXPECTED_FAILURES)) == {}


@pytest.mark.foreign
@pytest.mark.timeout(600)
@pytest.mark.parametrize("leg", [pytest.param("in process", marks=pytest.mark.smoke), "over HTTP"])
def test_a_server_behind_the_gateway_conforms_as_it_does_bare(
    leg: str, bare_leg: LegResult, tmp_path: Path
) -> None:
    behind = run_leg(leg, tmp_path / "behind")
    expected = read_expectations(EXPECTED_FAILURES)
    assert faults_of({BARE: bare_leg, leg: behind}, expected) == {}


@pytest.mark.foreign
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("revision", "scenario"), [(r, s) for r, several in CLIENT_SCENARIOS.items() for s in several]
)
def test_the_gateway_is_a_client_as_its_servers_may_expect(
    revision: str, scenario: str, tmp_path: Path
) -> None:
    assert faults_of_client(run_client(scenario, revision, tmp_path / "client")) == []


@pytest.mark.parametrize(
    ("bare", "behind", "fault"),
    [
        ((TEXT, ECHO), outcome(TEXT, failed=(ECHO,)), "echo:echo (echo): it is empty"),
        ((TEXT, ECHO), outcome(TEXT), "echo:echo (echo): not reached"),
        ((TEXT,), outcome(TEXT, failed=(SEE,)), "see:see (see): it is empty"),
        ((TEXT,), outcome(TEXT, exit_code=1), "the suite ended with exit code 1"),
    ],
    ids=["passes bare alone", "not reached", "fails behind alone", "ends badly"],
)
def test_what_the_gateway_alone_does_wrong_is_a_fault(
    bare: tuple[Check, ...], behind: Outcome, fault: str
) -> None:
    assert faults_behind_gateway(SUITE, outcome(*bare), behind, []) == [fault]


def test_an_expected_failure_is_no_fault_until_it_passes() -> None:
    bare, expected = outcome(TEXT, ECHO), [expecting("echo:echo")]
    assert faults_behind_gateway(SUITE, bare, outcome(TEXT, failed=(ECHO,)), expected) == []
    (fault,) = faults_behind_gateway(SUITE, bare, bare, expected)
    assert "take it off the list" in fault


def test_the_bare_server_falls_short_by_scored_failures_and_by_too_few_passes() -> None:
    assert faults_of_bare(SUITE, outcome(TEXT, ECHO, failed=(SEE,))) == []
    assert faults_of_bare(SUITE, outcome(TEXT)) == ["1 checks pass, of 2 at least"]
    failing = faults_of_bare(SUITE, outcome(TEXT, SEE, failed=(ECHO,)))
    assert failing == ["echo:echo (echo) fails: it is empty"]


@pytest.mark.parametrize(
    ("expected", "fault"),
    [
        ([expecting("echo:echo", reason="")], "needs a reason"),
        ([expecting("tools-call-error:x")], "may not be expected"),
        ([expecting("dns-rebinding-protection:x")], "may not be expected"),
        ([expecting("server-initialize:x")], "may not be expected"),
        ([Expectation(suite="none", check="echo:echo", reason="r")], "no suite 'none'"),
        ([expecting(f"echo:{n}") for n in range(6)], "at most 5"),
    ],
)
def test_what_may_not_be_expected_to_fail(expected: list[Expectation], fault: str) -> None:
    (found,) = check_expectations(expected, [SUITE])
    assert fault in found


def test_the_expected_failures_may_stand() -> None:
    assert check_expectations(read_expectations(EXPECTED_FAILURES), SUITES) == []


def test_a_call_that_is_in_no_record_is_missing() -> None:
    assert missing_calls(Counter(echo=2), Counter(echo=2, other=1)) == []
    (missing,) = missing_calls(Counter(echo=2), Counter(echo=1))
    assert "called 2 times, and 1 are recorded" in missing


def test_a_leg_without_any_call_proves_nothing() -> None:
    bare = {suite.name: outcome() for suite in SUITES}
    leg = LegResult(outcomes=bare, received=Counter(), recorded=Counter())
    faults = faults_of({BARE: leg, "over HTTP": leg}, [])
    assert faults["over HTTP, record"] == ["no call reached the server"]
