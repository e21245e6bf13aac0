"""The prompts of trajectory synthesis, one template each."""
