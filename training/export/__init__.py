"""Environments and trajectories as data sets, for others: rows, the card beside them, and logs for viewers.

Environments go out as RL rows in the published form or as verl reads them, trajectories as chats for
fine-tuning. Knows bundles, trajectories and files; of rows that others publish it reads the files alone.
Commands import this package. To read in this order: ``columns``, ``row_files``, ``readme``; of environments
``rl_rows``, ``card``, ``exporting``; of trajectories ``selection``, ``sft_rows``, ``sft_card``,
``inspect_log``, ``sft_exporting``.
"""
