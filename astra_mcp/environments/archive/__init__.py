"""An environment as one file for a desktop client: an MCPB archive that runs offline, in plain Python.

Values in, values out: knows bundles and the format; knows neither files nor servers of this package.
``server_program`` is not imported: it is the server that stands in an archive. The command line imports
this package. To read in this order: ``manifest``, ``mcpb``, ``server_program``.
"""
