"""Readers of rocm inputs."""

from __future__ import annotations

from profrx_parsers.descriptor import Descriptor

DESCRIPTORS: tuple[Descriptor, ...] = ()
