"""Servers of which there are documents only: every answer is made up, and the same for the same calls.

Knows tool documents, schemas and, for one of its two emulators, the model layer; knows neither the
registry that the documents come from nor the gateway. Only :mod:`astra_mcp.compose` and what stands above it
import it. To read in this order: :mod:`~servers.emulated.emulator`, :mod:`~servers.emulated.server`,
:mod:`~servers.emulated.fleet`; what tools and calls say (:mod:`~servers.emulated.parameters`,
:mod:`~servers.emulated.verbs`, :mod:`~servers.emulated.arguments`, :mod:`~servers.emulated.spans`), then the
two emulators.
"""
