"""verl as the trainer: its own GRPO at any scale, over episodes that are played through the gateway.

An adapter for verl 0.9.1, of which no file is edited: an agent loop by YAML over :mod:`training.rl.core`, the
filling of batches as its sampler, rows that are numbers of groups, rewards from the gateway's record, a
trainer of few hooks, and orders that the command gives between steps. verl is the extra ``verl``;
``settings``, ``versions``, ``plan`` and ``account`` load neither it nor PyTorch. The command line imports it.
To read in this order: ``settings``, ``presets``, ``versions``, ``configuration``, ``plan``, ``dataset``,
``account``, ``agent_loop``, ``workers``, ``filling``, ``orders``, ``trainer``, ``driver``, ``processes``,
``stretching``, ``launcher``; ``cpu``, which verl's processes load.
"""
