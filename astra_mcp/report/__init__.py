"""How results reach people and programs: standard output for results, standard error for everything else.

Knows no command and nothing of what is reported; whoever speaks to people may import it.
"""
