"""What tests of SFT share: a small model with random weights, and one thread, so that forks work."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the smallest model."""
    import torch  # noqa: PLC0415 - of the extra

    from training.tiny.model import SMALLEST  # noqa: PLC0415
    from training.tiny.start import save_start  # noqa: PLC0415

    torch.set_num_threads(1)
    return save_start(tmp_path_factory.mktemp("model") / "start", size=SMALLEST)
