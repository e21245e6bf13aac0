"""A small model made on the spot that knows nothing but micro families: for examples, tests and evidence.

Qwen3's architecture, a byte-level tokenizer, a chat template of its own with terse tools and Hermes calls.
Needs the extra ``train``. Trainers, tests and benchmarks import it, and it knows none of them. To read in
this order: ``corpus``, ``tokenizer``, ``model``, ``start``.
"""
