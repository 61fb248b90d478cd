"""The default pack, loaded once."""

from __future__ import annotations

import pytest

from profrx.language.pack import Pack, load_pack


@pytest.fixture(scope="session")
def default_pack() -> Pack:
    return load_pack(plugins=False)
