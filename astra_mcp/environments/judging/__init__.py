"""What code cannot decide of a bundle: fixed questions to a model, whose votes are counted and kept.

``judge_bundle`` asks; it loads the client of models, and with it a second. ``judgement`` holds the values
alone. Stands beside the acceptance and is never a part of it.
"""
