"""Decoupled checkpoints: weights often and of all steps; what a resume needs beside them, of the newest.

A save is copied in memory and written by a background thread; it appears as a whole or not at all, and a pair
of weights and state that training can go on from survives every kill. Knows tensors and files; knows no
model, no optimizer and no other package of training. Trainers import it; importing it needs no torch, and
writing does. To read in this order: ``disk`` (the steps of a save), ``manifest`` (what is whole), ``folders``
(names), ``store`` (what there is), ``placement``, ``retention`` (what stays), ``tensors``, ``lock``,
``writer``.
"""

from training.checkpoints.disk import CheckpointError
from training.checkpoints.store import Checkpoint, CheckpointStore
from training.checkpoints.writer import CheckpointWriter, OnFailure, Usage

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "CheckpointStore",
    "CheckpointWriter",
    "OnFailure",
    "Usage",
]
