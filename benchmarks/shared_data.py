"""Where the conversations of others are that tests and benchmarks read; never copied."""

import os
from pathlib import Path
from typing import Final


_ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = Path(
    os.environ.get("MUNIMENT_SHARED_DATA") or _ROOT.parent / "shared" / "data"
)
LOCOMO: Final = FOLDER / "locomo" / "locomo4.json"
MADIAL: Final = FOLDER / "madial"
MEMORYBANK: Final = FOLDER / "memorybank" / "memory_bank_cn.json"

ABSENT: Final = f"no conversations in {FOLDER}; name the folder with MUNIMENT_SHARED_DATA"
"""Why a test that reads them is skipped."""
