"""Random JSON values, of the scalars and the names of members that a test is about."""

from typing import Any

from hypothesis import strategies as st

__all__ = ["random_json"]


def random_json(
    scalars: st.SearchStrategy[Any], names: st.SearchStrategy[str], *, max_leaves: int
) -> st.SearchStrategy[Any]:
    """Lists and objects of null, booleans and these scalars."""
    return st.recursive(
        st.none() | st.booleans() | scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
        max_leaves=max_leaves,
    )
