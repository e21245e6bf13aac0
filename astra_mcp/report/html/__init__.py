"""Reports as one HTML file: tables, bars and plots that need no network, no server and hardly JavaScript.

Knows nothing of what is reported. In reading order: ``parts`` (what a report is made of), ``plots`` (what
the script of the page draws), ``drawing`` (what is seen without it), ``views`` (what templates take),
``writing`` (the file), ``stored`` (a report that is read again). The page itself is
``assets/report.html.jinja`` with its style and script; ``assets/parts.html.jinja``, ``parts.css`` and
``tokens.css``, the colours, are those of a gateway's pages too. ``vendored`` holds the plot library. Loaded
where a report is written or shown alone.
"""
