"""What an agent did, to be read: turn by turn, beside another episode, and run again.

Knows the records of the gateway, and the files of trajectories and scores in one folder of the home; knows no
agent and no judge. :mod:`astra_mcp.serving.pages.app` alone imports it. To read in this order: ``files``
(where the trajectory of an episode stands), ``turns`` (how it is laid out), ``reading`` (its page),
``neighbours`` (which episodes are of the same question), ``pairs`` (which calls of two belong together),
``short_ids`` (which episode an id means that is cut short), ``beside`` (the page of two), ``replay``,
``pages``.
"""

__all__: list[str] = []
