"""Families in which no call changes anything: what is asked for is found, over one hop or several."""
