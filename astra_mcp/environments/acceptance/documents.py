"""Checks of the document alone: faults, completeness, specific answers, leaks."""

from collections.abc import Iterator

from astra_mcp.answers import answer_fault
from astra_mcp.environments.acceptance.leaks import leak_failures
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.bundle import Bundle, EnvironmentDocument
from astra_mcp.environments.loading import document_faults, missing_fields

__all__ = ["document_failures", "fault_check"]


def document_failures(bundle: Bundle) -> Iterator[FailedCheck]:
    """Check the document: faults, completeness, specific answers, leaks."""
    document = bundle.document
    for fault in document_faults(document, bundle.code):
        yield FailedCheck.of(fault_check(fault), fault)
    yield from _incomplete(document)
    for sub in document.sub_tasks:
        fault = answer_fault(sub.answer) if sub.tool is not None else None
        if fault:
            yield FailedCheck.of(Check.SPECIFIC_ANSWER, f"sub-task {sub.id}: {fault}")
    yield from leak_failures(document)


def fault_check(fault: str) -> Check:
    """Name the check that a fault of loading belongs to."""
    return Check.SIGNATURE if fault.startswith("tools.py: ") else Check.DOCUMENT


def _incomplete(document: EnvironmentDocument) -> Iterator[FailedCheck]:
    missing = missing_fields(document)
    if missing:
        detail = f"environment.json lacks {', '.join(missing)}; it stays unverified without them"
        yield FailedCheck.of(Check.COMPLETE, detail)
