"""Kernel names: the bare function name, and an id that is equal over tools.

Tools print one kernel in several ways: with or without return type, ``float const*`` or ``const float *``,
``(int)4`` or ``4``, ``[lambda(int) (instance 1)]`` or ``{lambda(int)#1}``, ``<unnamed>`` or
``(anonymous namespace)``, ``[clone .kd]`` or ``.kd`` behind it. All text here is untrusted: no recursion,
bounded length. Source: names observed in Nsight Compute and Nsight Systems reports, rocprof CSVs and Kineto traces.
"""

from __future__ import annotations

import re
from functools import lru_cache

MAX_NAME = 1 << 16
ANONYMOUS = "(anonymous namespace)"
_TAIL = re.compile(r"(?:\s*\[clone [^\]]*\]|\.kd|\s*\(\.kd\))+$")
_ABI = re.compile(r"\[abi:[^\]]*\]|(?<=\w)\[v\d+[^\]]*\]")
_UNNAMED = re.compile(
    r"<unnamed>|(?<![\w<])unnamed>(?=::)|\{anonymous\}|\(anonymous namespace\)|_GLOBAL__N_\w*|`anonymous namespace'|_NV_ANON_NAMESPACE"
)
_NVIDIA_LAMBDA = re.compile(r"\[lambda\((?:[^()]|\([^()]*\))*\)(?: -> [^\]]*?)? \(instance (\d+)\)\]")
_GNU_LAMBDA = re.compile(r"\{lambda\((?:[^(){}]|\([^()]*\))*\)#(\d+)\}")
_LLVM_LAMBDA = re.compile(r"'lambda(\d*)'(?:\((?:[^()]|\([^()]*\))*\))?")
_OPERATOR = re.compile(r"\boperator\s*(\(\)|\[\]|<<=|>>=|<=>|->\*|->|<<|>>|<=|>=|<|>|,|[^\w\s(]{1,3})")
_CAST = re.compile(r"\((?!\))[\w:<> ]{1,200}\)(?=-?\d)")
_SUFFIX = re.compile(r"(?<=\d)(?:ull|ul|u|ll|l)\b", re.IGNORECASE)
_QUALIFIER = re.compile(r"\b(?:const|volatile|__restrict__|restrict)\b")
_OPEN, _CLOSE = "(<[{", ")>]}"


@lru_cache(maxsize=65536)
def short_name(name: str) -> str:
    """Return the bare function name: no namespace, return type, template or function arguments.

    >>> short_name("void at::native::reduce_kernel<512, 1, Op<float>>(Op<float>)")
    'reduce_kernel'
    >>> short_name("(anonymous namespace)::scale(float*, float) [clone .kd]")
    'scale'
    """
    plain = _mask(name)
    if plain.startswith("_Z"):
        return _mangled_name(plain) or plain
    head = _before_arguments(plain)
    last = _last_component(head)
    return _unmask(last) or name.strip() or name


@lru_cache(maxsize=65536)
def kernel_id(name: str) -> str:
    """Return the canonical id of a kernel: the same for every tool's spelling of its name.

    >>> kernel_id("void ns::f<(int)4>(const float *)") == kernel_id("void ns::f<4>(float const*) [clone .kd]")
    True
    """
    plain = _mask(name)
    plain = _QUALIFIER.sub(" ", plain)
    plain = _CAST.sub("", plain)
    plain = _SUFFIX.sub("", plain)
    plain = re.sub(r"\btrue\b", "1", re.sub(r"\bfalse\b", "0", plain))
    plain = _without_return_type(plain)
    plain = re.sub(r"\s+", " ", plain).strip()
    plain = re.sub(r"\s*([^\w\s])\s*", r"\1", plain)
    return _unmask(plain) or name.strip()


def _mask(name: str) -> str:
    """Unify lambdas, anonymous namespaces, operators and clone suffixes; hide their brackets from the scan."""
    text = _TAIL.sub("", name[:MAX_NAME].strip())
    text = _ABI.sub("", text)
    text = _UNNAMED.sub("\x01", text)
    text = _NVIDIA_LAMBDA.sub("\x02\\1\x03", text)
    text = _GNU_LAMBDA.sub("\x02\\1\x03", text)
    text = _LLVM_LAMBDA.sub(lambda m: f"\x02{int(m[1]) + 2 if m[1] else 1}\x03", text)
    return _OPERATOR.sub(lambda m: "operator" + "".join(chr(0xE000 + ord(c)) for c in m[1]), text)


def _unmask(text: str) -> str:
    text = text.replace("\x01", ANONYMOUS).replace("\x02", "{lambda#").replace("\x03", "}")
    return "".join(chr(ord(c) - 0xE000) if 0xE000 <= ord(c) < 0xE080 else c for c in text)


def _before_arguments(text: str) -> str:
    """Cut the function's own argument list (the last outermost parenthesis) and what follows it."""
    depth = 0
    cut = len(text)
    for at, char in enumerate(text):
        if char in _OPEN:
            if char == "(" and depth == 0:
                cut = at
            depth += 1
        elif char in _CLOSE and not (char == ">" and at and text[at - 1] == "-"):
            depth = max(0, depth - 1)
    return text[:cut].rstrip() or text


def _last_component(text: str) -> str:
    """Return what follows the last outermost ``::`` or blank, without template arguments."""
    depth = 0
    start = 0
    stop = len(text)
    for at, char in enumerate(text):
        if char in _OPEN:
            if depth == 0 and char == "<":
                stop = at
            depth += 1
        elif char in _CLOSE and not (char == ">" and at and text[at - 1] == "-"):
            depth = max(0, depth - 1)
        elif depth == 0 and (char == ":" or (char == " " and not text[:at].endswith("operator"))):
            start, stop = at + 1, len(text)
    return text[start:stop].strip().lstrip("*&")


def _without_return_type(text: str) -> str:
    """Drop a return type: everything up to the last outermost blank before the argument list."""
    head = _before_arguments(text)
    depth = 0
    start = 0
    for at, char in enumerate(head):
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE and not (char == ">" and at and head[at - 1] == "-"):
            depth = max(0, depth - 1)
        elif char == " " and depth == 0 and head[at + 1 : at + 2] not in ("<", "(", ""):
            start = at + 1
    return text[start:]


def _mangled_name(text: str) -> str:
    """Return the last source name of an Itanium-mangled name, as far as plain names go."""
    pos = 2
    nested = text.startswith("N", pos)
    pos += nested
    found = ""
    while pos < len(text):
        match = re.match(r"(?:L|K|V|r|St)*(\d{1,5})", text[pos:])
        if not match:
            if text.startswith("I", pos) and found:
                break
            break
        length = int(match[1])
        pos += match.end()
        part = text[pos : pos + length]
        if len(part) < length:
            break
        found = part
        pos += length
        if not nested:
            break
    return found
