"""NVTX state stored with a result: which ranges were open on the launching thread.

NvtxState: 1 domains {1 id, 2 name, 3 registered strings {1 handle, 2 text}}, 2 threads {1 id, 2 domains
{1 id, 3 stack {1 name, 2 attributes}}}, 3 start-end domains {1 id, 3 ranges {2 name, 3 attributes, 5 thread}}.
Attributes hold the message in 5 {1 type, 2 text, 3 handle}.
Source: the format documentation shipped with Nsight Compute 2024.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from profrx_parsers.wire import Message

if TYPE_CHECKING:
    from profrx_parsers.ncu._results import Result

SEPARATOR = " / "
MAX_RANGES = 64


def open_ranges(data: memoryview, result: Result) -> str | None:
    """Return the open ranges, start-end ranges first, then the push-pop stack, outermost first; None if none."""
    spans = result.spans("nvtx")
    if not spans:
        return None
    state = Message(data, spans[-1])
    if not state.spans(2) and not state.spans(3):
        return None
    strings = _registered(state)
    found: list[str] = []
    for domain in state.messages(3):
        found += [_name(one, 2, 3, strings) for one in domain.messages(3)[:MAX_RANGES]]
    thread = result.integer("thread")
    threads = state.messages(2)
    mine = [t for t in threads if t.integer(1) == thread] or (threads if len(threads) == 1 else [])
    for one in mine:
        for domain in one.messages(2):
            found += [_name(entry, 1, 2, strings) for entry in domain.messages(3)[:MAX_RANGES]]
    found = [name for name in found if name]
    return SEPARATOR.join(found[:MAX_RANGES]) or None


def _registered(state: Message) -> dict[int, str]:
    strings: dict[int, str] = {}
    for domain in state.messages(1):
        for entry in domain.messages(3):
            handle, text = entry.integer(1), entry.text(2)
            if handle is not None and text:
                strings[handle] = text
    return strings


def _name(entry: Message, name: int, attributes: int, strings: dict[int, str]) -> str:
    text = entry.text(name)
    if text:
        return text
    extra = entry.message(attributes)
    message = extra.message(5) if extra else None
    if message is None:
        return ""
    return message.text(2) or strings.get(message.integer(3) or -1, "")
