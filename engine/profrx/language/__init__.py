"""The rule language: syntax, static checks, formatting, packs. Evaluation lives in `profrx.evaluate`."""
