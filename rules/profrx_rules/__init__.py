"""The rules that ship with profrx: data only, `.rule` files by topic."""
