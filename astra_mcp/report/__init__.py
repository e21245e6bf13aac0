"""How results reach people and programs: standard output for results, standard error for everything else.

Knows no command and nothing of what is reported; whoever speaks to people may import it.
``shown`` lays out and escapes, ``console`` prints, ``choices`` suggests words, ``html`` writes reports
as files.
"""
