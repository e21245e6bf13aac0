"""Composition: the only code that knows every package, and wires each Protocol to what satisfies it.

Knows neither commands nor how a process serves; :mod:`astra_mcp.serving` and :mod:`astra_mcp.cli` alone may
import it. To read in this order: :mod:`~astra_mcp.compose.settings`, :mod:`~astra_mcp.compose.bundles`,
:mod:`~astra_mcp.compose.catalog`, then the part that is looked for. Commands that serve nothing import
neither ``catalog`` nor what that needs.
"""
