"""GRPO in plain PyTorch. PyTorch is the extra ``train``; ``objective`` is what is made small."""
