"""The demo: sources with the answers of a model, all written by hand, good ones and the mistakes models make.

``script`` finds the answer to a request; each file of ``answers`` holds one source, what a model says of it,
and what has to come of it. Knows prompts and their documents; knows no server and no model layer, so the
composition root puts it behind an endpoint. Imported by the composition root and the command line.
"""
