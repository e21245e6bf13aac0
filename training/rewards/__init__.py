"""The seven-dimension reward of trajectories, which a judge and the record decide, and files of scores.

Source: ASTRA sec. 2.1.5. Knows trajectories, of models that one answers in a form (``Asks``), and of
rollouts how they read arguments; knows neither settings nor endpoints. Commands and ``training.export``
import it. To read in this order: ``score`` (what is said of a trajectory), ``shown`` (what judges see),
``judging``, ``conciseness``, ``rules``,
``scoring`` (one trajectory), ``score_files``, ``running`` (files of them), ``floors``; ``calibration`` (how
far a judge is to be trusted), ``statistics`` (what scored trajectories hold).
"""
