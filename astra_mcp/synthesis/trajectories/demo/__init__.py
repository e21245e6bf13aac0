"""The demo of trajectories: three small servers, and every word of a model about them, written by hand.

Knows prompts by their names and what they show; knows no pipeline, no gateway and no model. The composition
root serves it in the place of a model. To read in this order: ``words`` (what was written, in the folder
``words``), ``places`` (what stands for values of results), ``script`` (which words answer a request). The
folder ``documents`` holds the servers, as saved answers to ``tools/list``.
"""
