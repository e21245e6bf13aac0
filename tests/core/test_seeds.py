"""Seeds derived by name: stable over releases, independent of one another."""

from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.seeds import derive_seed, generator

NAMES = st.lists(st.one_of(st.text(max_size=8), st.integers(0, 99)), max_size=3)


def test_derived_seeds_never_change_and_names_are_not_joined() -> None:
    assert derive_seed(0) == 0xA37BBBB0764CC5BF
    assert derive_seed(7, "distractors", 3) == 0x5E5867EBD27B1C53
    assert derive_seed(1, "ab", "c") != derive_seed(1, "a", "bc")


@given(st.integers(0, 2**63), NAMES)
def test_a_derived_seed_fits_eight_bytes_and_repeats(root: int, names: list[str | int]) -> None:
    seed = derive_seed(root, *names)
    assert 0 <= seed < 2**64
    assert derive_seed(root, *names) == seed


@given(st.integers(0, 2**63), NAMES, NAMES)
def test_other_paths_and_roots_give_other_seeds(
    root: int, one: list[str | int], other: list[str | int]
) -> None:
    is_same = [str(n) for n in one] == [str(n) for n in other]
    assert (derive_seed(root, *one) == derive_seed(root, *other)) == is_same
    assert derive_seed(root, *one) != derive_seed(root + 1, *one)


def test_generators_of_one_path_draw_the_same() -> None:
    first, second = generator(5, "failures"), generator(5, "failures")
    assert [first.random() for _ in range(5)] == [second.random() for _ in range(5)]
