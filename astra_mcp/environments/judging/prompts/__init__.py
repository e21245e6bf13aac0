"""The prompts of the judge, one template file for each question; nothing else."""
