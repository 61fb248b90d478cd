"""`to_text`: the syntax tree as canonical text; parsing it gives the same tree, spans aside.

The printer knows nothing of comments or of the author's line breaks; `format` keeps those.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from profrx.language import ast
from profrx.language.text import encode

_LEVEL = {"or": 1, "and": 2, "??": 5, "+": 6, "-": 6, "*": 7, "/": 7}
_IF, _NOT, _COMPARE, _DEFAULT, _SUM, _NEGATIVE, _ATOM = 0, 3, 4, 5, 6, 8, 9


def to_text(node: ast.File | ast.Declaration | ast.Expr) -> str:
    """Write a file, a declaration or an expression."""
    if isinstance(node, ast.File):
        return "\n\n".join(map(to_text, node.declarations)) + ("\n" if node.declarations else "")
    if isinstance(node, ast.Pack | ast.Ruleset | ast.Cause | ast.Reference | ast.Param):
        return _small(node)
    if isinstance(node, ast.Metric | ast.Verdict | ast.Guard | ast.Rule):
        override = "override " if node.override else "extend " if getattr(node, "extends", False) else ""
        lines = "".join(f"  {line}\n" for line in _statements(node))
        return f"{override}{type(node).__name__.lower()} {node.name} {{\n{lines}}}"
    return expr_text(node)


def number_text(value: float) -> str:
    """A number as the grammar reads it back to the same float."""
    if math.isnan(value):
        return "nan"
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value)


def quantity_text(node: ast.Quantity) -> str:
    """``30 %``; the unit keeps its distance."""
    return f"{number_text(node.value)} {node.unit}".rstrip()


def expr_text(node: ast.Expr, level: int = _IF) -> str:
    """Write an expression, in parentheses when it binds looser than `level`."""
    text, own = _expr(node)
    return f"({text})" if own < level else text


def _expr(node: ast.Expr) -> tuple[str, int]:
    match node:
        case ast.Quantity():
            return quantity_text(node), _NEGATIVE if node.value < 0 else _ATOM
        case ast.Text():
            return encode(node.value), _ATOM
        case ast.Bool():
            return str(node.value).lower(), _ATOM
        case ast.Name():
            return node.name, _ATOM
        case ast.Raw():
            return f"raw {encode(node.name)} {node.unit}".rstrip(), _ATOM
        case ast.Unary("not"):
            return f"not {expr_text(node.operand, _NOT)}", _NOT
        case ast.Unary():
            return f"-{expr_text(node.operand, _NEGATIVE)}", _NEGATIVE
        case ast.Binary():
            own = _LEVEL[node.op]
            return f"{expr_text(node.left, own)} {node.op} {expr_text(node.right, own + 1)}", own
        case ast.Compare():
            operands = [expr_text(operand, _DEFAULT) for operand in node.operands]
            rest = "".join(f" {op} {operand}" for op, operand in zip(node.ops, operands[1:], strict=True))
            return operands[0] + rest, _COMPARE
        case ast.In():
            operand = expr_text(node.operand, _DEFAULT)
            if node.is_range:
                return f"{operand} in {range_text(ast.Range(*node.items))}", _COMPARE
            return f"{operand} in {{{', '.join(map(expr_text, node.items))}}}", _COMPARE
        case ast.Matches():
            glob = "glob " if node.glob else ""
            return f"{expr_text(node.operand, _DEFAULT)} matches {glob}{encode(node.pattern)}", _COMPARE
        case ast.If():
            parts = map(expr_text, (node.condition, node.then, node.otherwise))
            return "if {} then {} else {}".format(*parts), _IF
        case ast.Call():
            return f"{node.function}({', '.join(map(expr_text, node.arguments))})", _ATOM
        case ast.Choice():
            pairs = zip(node.labels, node.values, strict=True)
            inner = ", ".join(f"{encode(label)}: {expr_text(value)}" for label, value in pairs)
            return f"{node.function}({inner})", _ATOM
        case ast.Aggregate():
            metric = encode(node.metric) if node.raw else node.metric
            over = f"{node.domain} {metric}".rstrip()
            where = f" where {expr_text(node.where)}" if node.where is not None else ""
            return f"{node.function}({expr_text(node.expr)} over {over}{where})", _ATOM
        case ast.Fired():
            return f"fired({node.rule})", _ATOM


def range_text(node: ast.Range) -> str:
    """``lo .. hi``; without an upper end ``lo ..``."""
    low = expr_text(node.low, _DEFAULT)
    if isinstance(node.high, ast.Quantity) and math.isinf(node.high.value):
        return f"{low} .."
    return f"{low} .. {expr_text(node.high, _DEFAULT)}"


def _either(node: ast.Range) -> str:
    return expr_text(node.low, _DEFAULT) if node.low == node.high else range_text(node)


# --- declarations ------------------------------------------------------------------------------------------


def _small(node: ast.Pack | ast.Ruleset | ast.Cause | ast.Reference | ast.Param) -> str:
    match node:
        case ast.Cause():
            return f"cause {node.name} {encode(node.meaning)}"
        case ast.Reference():
            return f"reference {node.name} {{ title {encode(node.title)} url {encode(node.url)} }}"
        case ast.Param():
            return _param(node)
        case ast.Ruleset():
            rules = "".join(f"  {rule} version {version},\n" for rule, version in node.rules)
            prefix = "override " if node.override else ""
            return f"{prefix}ruleset {encode(node.name)} {{\n{rules}}}"
        case ast.Pack():
            head = f"pack {encode(node.name)}"
            head += f" version {encode(node.version)}" if node.version else ""
            head += f" requires engine {encode(node.requires)}" if node.requires else ""
            body = [f"  title {encode(node.title)}\n"] if node.title else []
            body += [f"  include {encode(include)}\n" for include in node.includes]
            return head + (" {\n" + "".join(body) + "}" if body else "")


def _param(node: ast.Param) -> str:
    text = f"param {node.name} = {expr_text(node.default, _SUM)}"
    text += f" in {range_text(node.valid)}" if node.valid is not None else ""
    text += f" {encode(node.meaning)}" if node.meaning else ""
    text += f" see {', '.join(node.see)}" if node.see else ""
    return text + (" heuristic" if node.heuristic else "")


def _statements(node: ast.Metric | ast.Verdict | ast.Guard | ast.Rule) -> Iterable[str]:
    """The statements of a block in canonical order."""
    if isinstance(node, ast.Metric):
        yield from _metric(node)
        yield from map(test_text, node.tests)
        return
    yield f"title {encode(node.title)}"
    if node.version != 1:
        yield f"version {node.version}"
    if isinstance(node, ast.Rule):
        yield from _rule_head(node)
    if isinstance(node, ast.Guard) and node.severity != "warning":
        yield f"severity {node.severity}"
    yield f"scope {node.scope}"
    if isinstance(node, ast.Rule) and node.applies_to:
        yield f"applies_to {', '.join(node.applies_to)}"
    if isinstance(node, ast.Rule | ast.Verdict) and node.under:
        yield f"under {', '.join(node.under)}" + (" anyway" if getattr(node, "anyway", False) else "")
    yield from map(_param, node.params)
    yield from (f"require {expr_text(demand)}" for demand in node.requires)
    yield from (f"let {let.name} = {expr_text(let.expr)}" for let in node.lets)
    yield from _body(node)
    yield from (f"collect {c.tool} {c.kind} {encode(c.value)}" for c in node.collect)
    if isinstance(node, ast.Rule):
        for s in node.suppresses:
            when = f" when {expr_text(s.when)}" if s.when is not None else ""
            yield f"suppresses {s.rule}{when} because {encode(s.because)}"
    if node.see:
        yield f"see {', '.join(node.see)}"
    yield from map(test_text, node.tests)


def _metric(node: ast.Metric) -> Iterable[str]:
    if node.unit:
        yield f"unit {node.unit}"
    if node.kind != "number":
        yield f"kind {node.kind}"
    if not node.extends:
        yield f"meaning {encode(node.meaning)}"
    if node.scope != "launch":
        yield f"scope {node.scope}"
    if node.valid is not None:
        yield f"valid {range_text(node.valid)}"
    if node.family:
        yield f"family {node.family}"
    yield from map(_source, node.sources)
    yield from (f"collect {c.tool} {c.kind} {encode(c.value)}" for c in node.collect)
    if node.see:
        yield f"see {', '.join(node.see)}"
    if node.deprecated:
        yield f"deprecated {encode(node.deprecated)}"


def _source(node: ast.MetricSource) -> str:
    text = f"source {node.tool}"
    for word, ends in (("arch", node.arch), ("version", node.version)):
        if ends is not None:
            text += f" {word} " + (ends[0] if ends[0] == ends[1] else " .. ".join(ends).strip())
    if node.formula is not None:
        return f"{text} = {expr_text(node.formula)}"
    return f"{text} {', '.join(map(encode, node.names))} {node.unit}".rstrip()


def _rule_head(node: ast.Rule) -> Iterable[str]:
    if node.since:
        yield f"since {encode(node.since)}"
    if node.status != "stable" or node.replaced_by:
        yield f"status {node.status}" + (f" replaced_by {node.replaced_by}" if node.replaced_by else "")
    for word, levels in (("severity", node.severity), ("confidence", node.confidence)):
        if levels:
            yield f"{word} " + ", ".join(map(_level, levels))
    if node.cause:
        yield f"cause {node.cause}"


def _level(node: ast.Level) -> str:
    return node.level + (f" when {expr_text(node.when)}" if node.when is not None else "")


def _body(node: ast.Verdict | ast.Guard | ast.Rule) -> Iterable[str]:
    if isinstance(node, ast.Verdict):
        yield f"{node.hit} {{"
        for row in node.rows:
            title = f" {encode(row.title)}" if row.title else ""
            because = f" {encode(row.because)}" if row.because else ""
            yield f"  {row.name}{title} when {expr_text(row.when)}{because}"
        yield "}"
        return
    yield f"when {expr_text(node.when)}"
    if isinstance(node, ast.Guard):
        yield "blocks " + ", ".join(f"metric {name}" if "." in name else name for name in node.blocks)
    elif node.estimate is not None:
        high = f" .. {expr_text(node.estimate.high)}" if node.estimate.high is not None else ""
        yield f"estimate {node.estimate.kind} {expr_text(node.estimate.low)}{high}"
    yield f"because {encode(node.because)}"
    yield from (f"fix {encode(fix)}" for fix in node.fix)
    if isinstance(node, ast.Rule):
        yield from (f"except {encode(text)}" for text in node.exceptions)
        for evidence in node.evidence:
            label = f" as {encode(evidence.label)}" if evidence.label else ""
            yield f"evidence {expr_text(evidence.expr)}{label}"
        yield from (f"lines {lines.metric} top {lines.top}" for lines in node.lines)


def test_text(node: ast.Test) -> str:
    """Write a test on one line."""
    inputs = [f"{key} = {encode(value.value)}" for key, value in node.context if isinstance(value, ast.Text)]
    inputs += [_given(given) for given in node.given]
    if node.report:
        inputs.append(
            f"report {encode(node.report)}" + (f" kernel {encode(node.kernel)}" if node.kernel else "")
        )
    given = f"given {', '.join(inputs)} " if inputs else ""
    expect = node.expect
    outcome = f"value {_either(expect.value)}" if expect.value is not None else expect.outcome
    text = f"expect {outcome}"
    text += f" severity {expect.severity}" if expect.severity else ""
    text += f" confidence {expect.confidence}" if expect.confidence else ""
    text += f" estimate {_either(expect.estimate)}" if expect.estimate is not None else ""
    text += f" count {node.count}" if node.count is not None else ""
    return f"test {encode(node.name)} {{ {given}{text} }}"


def _given(node: ast.Given) -> str:
    name = f"raw {encode(node.name)}" if node.raw else node.name
    if node.instances is not None:
        members = ", ".join(f"{encode(key)}: {expr_text(value, _DEFAULT)}" for key, value in node.instances)
        return f"{name} = {{ {members} }}"
    return f"{name} missing" if node.value is None else f"{name} = {expr_text(node.value)}"
