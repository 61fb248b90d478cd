"""profrx: profile in, prescription out."""

__version__ = "0.1.0"
