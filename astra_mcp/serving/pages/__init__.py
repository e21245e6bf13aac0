"""Pages for people: what runs behind a gateway, and what was recorded, in a browser.

Rendered here, whole at every address, so that they need no script; nothing is loaded from elsewhere, and
nothing is shown without a session, which the control key alone gives. What tools, models and users wrote is
shown as text and never as anything else. Knows the gateway's core and the composition;
:mod:`astra_mcp.serving.process` alone may import it. To read in this order: ``opening``, ``app`` (who is let
in, and where an address leads), ``access``, ``parts``, ``rendering``, ``assets``, then a page each: ``home``,
``environments`` with ``graph``, ``play`` with ``fields`` and ``argument_types``, ``episodes`` with
``episode_index`` and ``live_list``, and in packages of their own ``trajectories``, ``servers``, ``registry``
and ``runs``.

A page of a later day is a class with ``routes``, a template, and an entry in ``rendering.NAVIGATION``.
"""

__all__: list[str] = []
