"""`rules_docs`: Markdown pages from a pack: one a rule and verdict with the same headings, an index, a tree diagram."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from profrx.escape import code_spans, prose
from profrx.language import ast
from profrx.language.cost import cost
from profrx.language.pack import Pack
from profrx.language.printer import expr_text, range_text, test_text
from profrx.language.template import fields
from profrx.language.walk import Judge, expressions, names, nodes, templates
from profrx.language.words import in_words

HEADINGS = (
    *("What", "Why", "Condition", "Parameters", "Metrics", "Estimate", "Fixes", "Exceptions"),
    *("Tests", "References", "History"),
)
"""Every page of a rule, a guard or a verdict has these, in this order."""
_TICKS = re.compile(r"`+")


def rules_docs(pack: Pack, only: Iterable[str] | None = None) -> dict[str, str]:
    """Pages by file name: ``index.md`` and one page for each rule, guard and verdict of `only` (None = all)."""
    wanted = None if only is None else frozenset(only)
    tables: tuple[Mapping[str, Judge], ...] = (pack.verdicts, pack.guards, pack.rules)
    nodes = [node for table in tables for node in table.values() if wanted is None or node.name in wanted]
    return {"index.md": index(pack, nodes)} | {f"{node.name}.md": page(pack, node) for node in nodes}


def index(pack: Pack, nodes: list[Judge]) -> str:
    """A table of everything, and how it hangs together."""
    lines = ["# Rules", ""]
    for kind, title in ((ast.Verdict, "Verdicts"), (ast.Guard, "Guards"), (ast.Rule, "Rules")):
        some = [node for node in nodes if isinstance(node, kind)]
        if some:
            lines += [f"## {title}", "", "| id | what | scope | since |", "|---|---|---|---|"]
            lines += [
                f"| [{node.name}]({node.name}.md) | {prose(node.title, cell=True)} | {node.scope} | {prose(getattr(node, 'since', ''), cell=True)} |"
                for node in some
            ]
            lines.append("")
    return "\n".join([*lines, "## Tree", "", *diagram(pack, nodes)]) + "\n"


def diagram(pack: Pack, nodes: list[Judge]) -> Iterator[str]:
    """A Mermaid flowchart: verdicts, their rows, and the rules under them."""
    shown = {node.name for node in nodes}
    yield "```mermaid"
    yield "flowchart LR"
    for node in nodes:
        if isinstance(node, ast.Verdict):
            yield f"  {_key(node.name)}{{{{{_label(node.title)}}}}}"
            for row in node.rows:
                yield f"  {_key(node.name)} --> {_key(row.name)}([{_label(row.title or row.name)}])"
        if isinstance(node, ast.Rule | ast.Verdict):
            rows = {row.name for verdict in pack.verdicts.values() for row in verdict.rows}
            yield from (f"  {_key(p)} --> {_key(node.name)}" for p in node.under if p in shown or p in rows)
        if isinstance(node, ast.Rule):
            yield f"  {_key(node.name)}[{_label(node.title)}]"
            yield from (
                f"  {_key(node.name)} -. suppresses .-> {_key(s.rule)}"
                for s in node.suppresses
                if s.rule in shown
            )
    yield "```"


def page(pack: Pack, node: Judge) -> str:
    """The page of one declaration."""
    writers = (
        _what,
        _why,
        _condition,
        _parameters,
        _metrics,
        _estimate,
        _fixes,
        _exceptions,
        _tests,
        _references,
        _history,
    )
    kind = type(node).__name__.lower()
    out = [f"# {prose(node.title)}", "", f"`{node.name}`, a {kind} of scope {node.scope}."]
    for heading, writer in zip(HEADINGS, writers, strict=True):
        out += ["", f"## {heading}", "", *(list(writer(pack, node)) or ["None."])]
    return "\n".join(out) + "\n"


def _what(pack: Pack, node: Judge) -> Iterator[str]:
    if isinstance(node, ast.Verdict):
        yield from (
            f"- **{prose(row.title or row.name)}** (`{row.name}`): {_prose(row.because)}" for row in node.rows
        )
        return
    yield _prose(node.because)
    if isinstance(node, ast.Guard):
        yield f"\nWhile it holds, these are blocked: {', '.join(f'`{name}`' for name in node.blocks)}."


def _why(pack: Pack, node: Judge) -> Iterator[str]:
    if isinstance(node, ast.Rule) and node.cause:
        meaning = pack.causes[node.cause].meaning if node.cause in pack.causes else ""
        yield f"Cause `{node.cause}`: {prose(meaning)}." if meaning else f"Cause `{node.cause}`."
    if isinstance(node, ast.Rule):
        yield from (f"- It explains `{s.rule}`: {prose(s.because)}." for s in node.suppresses)


def _condition(pack: Pack, node: Judge) -> Iterator[str]:
    params = {param.name: param for param in (*pack.params.values(), *node.params)}
    if isinstance(node, ast.Verdict):
        how = {
            "one_of": "Exactly one of these holds",
            "first": "The first of these that holds",
            "all": "Any of these",
        }
        yield f"{how[node.hit]}:\n"
        yield from (f"- `{row.name}` when {in_words(row.when, params)}" for row in node.rows)
    else:
        yield f"It fires when {in_words(node.when, params)}."
    if isinstance(node, ast.Rule | ast.Verdict) and node.under:
        anyway = ", or when that is unknown" if getattr(node, "anyway", False) else ""
        yield f"\nJudged only under {', '.join(f'`{parent}`' for parent in node.under)}{anyway}."
    if isinstance(node, ast.Rule) and node.applies_to:
        yield f"\nApplies to reports of {', '.join(node.applies_to)}."
    if node.lets:
        yield "\nwhere\n"
        yield from (f"- `{let.name}` = `{expr_text(let.expr)}`" for let in node.lets)


def _parameters(pack: Pack, node: Judge) -> Iterator[str]:
    read = _names(node)
    params = [*node.params, *(param for name, param in pack.params.items() if name in read)]
    if not params:
        return
    yield "| parameter | default | allowed | meaning | source |"
    yield "|---|---|---|---|---|"
    for param in params:
        allowed = range_text(param.valid) if param.valid is not None else ""
        source = ", ".join(f"`{name}`" for name in param.see) or ("rule of thumb" if param.heuristic else "")
        yield f"| `{param.name}` | {expr_text(param.default)} | {allowed} | {prose(param.meaning, cell=True)} | {source} |"
    yield from (f"\nThey must satisfy `{expr_text(demand)}`." for demand in node.requires)


def _metrics(pack: Pack, node: Judge) -> Iterator[str]:
    read = [name for name in _names(node) if name in pack.metrics]
    if not read:
        return
    yield "| metric | unit | meaning | where it comes from |"
    yield "|---|---|---|---|"
    for name in read:
        metric = pack.metrics[name]
        sources = "; ".join(dict.fromkeys(map(_source, metric.sources)))
        yield f"| `{name}` | {metric.unit or 'none'} | {prose(metric.meaning, cell=True)} | {prose(sources, cell=True)} |"
    collect = dict.fromkeys(c for c in node.collect)
    yield from (f"\nTo collect: {c.tool} {c.kind} `{c.value}`." for c in collect)


def _source(source: ast.MetricSource) -> str:
    ends = [
        f"{word} {' .. '.join(span)}"
        for word, span in (("arch", source.arch), ("version", source.version))
        if span
    ]
    what = (
        f"`{expr_text(source.formula)}`"
        if source.formula is not None
        else ", ".join(f"`{n}`" for n in source.names)
    )
    return f"{source.tool}{' (' + ', '.join(ends) + ')' if ends else ''}: {what}"


def _estimate(pack: Pack, node: Judge) -> Iterator[str]:
    if not isinstance(node, ast.Rule):
        return
    if node.estimate is not None:
        low, high = node.estimate.low, node.estimate.high
        span = f"`{expr_text(low)}`" + (f" to `{expr_text(high)}`" if high is not None else "")
        of = "the run time" if node.estimate.kind == "global" else "one unit's time (not ranked as run time)"
        yield f"Share of {of} that could be saved: {span}, cut to 0 % .. 100 %."
    for word, levels in (("Severity", node.severity), ("Confidence", node.confidence)):
        parts = [
            f"{level.level}{f' when {in_words(level.when)}' if level.when is not None else ''}"
            for level in levels
        ]
        if parts:
            yield f"\n{word}: {'; else '.join(parts)}."


def _fixes(pack: Pack, node: Judge) -> Iterator[str]:
    fixes = () if isinstance(node, ast.Verdict) else node.fix
    yield from (f"{number}. {_prose(fix)}" for number, fix in enumerate(fixes, 1))


def _exceptions(pack: Pack, node: Judge) -> Iterator[str]:
    if isinstance(node, ast.Rule):
        yield from (f"- {_prose(text)}" for text in node.exceptions)


def _tests(pack: Pack, node: Judge) -> Iterator[str]:
    if node.tests:
        text = "\n".join(map(test_text, node.tests))
        fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(text)), default=0))
        yield "\n".join([fence, text, fence])


def _references(pack: Pack, node: Judge) -> Iterator[str]:
    cited = dict.fromkeys([*node.see, *(name for param in node.params for name in param.see)])
    for name in cited:
        reference = pack.references.get(name)
        yield f"- {_link(reference.title, reference.url)}" if reference is not None else f"- {name}"


def _history(pack: Pack, node: Judge) -> Iterator[str]:
    yield f"- version {node.version}, computes {cost(node)} values for each {node.scope}"
    if isinstance(node, ast.Rule):
        if node.since:
            yield f"- since {node.since}"
        yield f"- status {node.status}" + (f", replaced by `{node.replaced_by}`" if node.replaced_by else "")
    held = [name for name, ruleset in pack.rulesets.items() if node.name in dict(ruleset.rules)]
    if held:
        yield f"- in the rulesets {', '.join(held)}"


def _names(node: Judge) -> list[str]:
    """Names that a declaration reads, in order."""
    found: dict[str, None] = {}
    for expr in (*(let.expr for let in node.lets), *(expr for _, expr in expressions(node))):
        found |= dict.fromkeys(name.name for name in names(expr))
        found |= dict.fromkeys(p.metric for p in nodes(expr) if isinstance(p, ast.Aggregate) and not p.raw)
    found |= dict.fromkeys(field.name for _, text in templates(node) for field in fields(text))
    return list(found)


def _prose(text: str) -> str:
    """A template as a reader sees it: its fields as code."""
    return prose("".join(_filled(part, is_code) for is_code, part in code_spans(text)))


def _filled(text: str, is_code: bool) -> str:
    """Name the fields of a piece of a template; inside of code they need no code spans of their own."""
    tick = "" if is_code else "`"
    for field in fields(text):
        if field.name:
            spec = f":{field.spec}" if field.spec else ""
            text = text.replace(f"{{{field.name}{spec}}}", f"{tick}{field.name}{tick}")
    text = text.replace("{{", "{").replace("}}", "}")
    return f"`{text}`" if is_code else text


def _link(title: str, url: str) -> str:
    """Return a link to the web or to a neighbouring file; an address of another kind is shown, not linked."""
    if re.fullmatch(r"(https?://)?[^\s<>:]+(:\d+/[^\s<>]*)?", url):
        shown = f"<{url}>" if "(" in url or ")" in url else url
        return f"[{prose(title)}]({shown})"
    return f"{prose(title)} (`{url.replace('`', '')}`)"


def _key(name: str) -> str:
    return name.replace("-", "_")


def _label(text: str) -> str:
    return '"' + " ".join(text.split()).replace('"', "'").replace("<", "#lt;") + '"'
