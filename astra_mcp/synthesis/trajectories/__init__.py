"""Tasks that are made of tool documents, for trajectories: chains of tools, and what a user would ask.

The first pipeline of ASTRA (sec. 2.1) up to the task; rollouts, rewards and exports belong to ``training``.
Knows tool documents and models; knows neither registry, gateway nor training, and declares what it needs of
them as Protocols. Imported by the composition root, the command line, and by ``training`` and ``registry``
for its values. To read in this order: ``server``, ``chain``, ``task``, ``asking``; ``chains``, ``checks``,
``tasks`` and ``pipeline`` (by ``prompts``); ``demo``.
"""
