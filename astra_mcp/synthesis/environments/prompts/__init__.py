"""The prompts of environment synthesis, one template file for each call of a model; nothing else."""
