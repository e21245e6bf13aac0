"""From a decomposed question to a verified environment: the second half of synthesis (ASTRA 2.2.3, 2.2.4).

In reading order: ``tool`` (a tool with its code and its calls), ``scopes``, ``renaming``, ``joinable`` and
``namespaces`` (modules become one), ``assembly`` (tools become a bundle), ``trial`` (a quick run in the
sandbox), ``making_tools`` (document, scaling, call, code), ``merging`` (homogeneous sub-questions share a
tool), ``accepting`` (the acceptance, and repair by its messages), ``judging`` (its second tier),
``attacking`` (a model tries to earn the reward without the question), ``publishing``. Knows the
bundle format, the sandbox and the model layer; declares what it needs of others as Protocols.
"""
