"""The command line and the composition root: the only code that knows every package.

Each module is one command: it parses, reads the settings, calls one public function and prints.
Nothing imports this package.
"""
