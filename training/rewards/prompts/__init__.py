"""The questions to the judge of trajectories, one template each; ``training.rewards.judging`` asks them."""
