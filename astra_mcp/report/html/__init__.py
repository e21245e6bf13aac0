"""Reports as one HTML file: tables, bars and plots that need no network, no server and hardly JavaScript.

Knows nothing of what is reported. In reading order: ``parts`` (what a report is made of), ``plots`` (what
the script of the page draws), ``writing`` (the file). The page itself is ``assets/report.html.jinja`` with
its style and script, ``assets/tokens.css`` the colours, which the pages of a gateway have too; ``vendored``
holds the plot library. Loaded where a report is written alone.
"""
