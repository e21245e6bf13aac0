"""The prompts of users that a model plays, one template each."""
