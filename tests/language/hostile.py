"""Inputs that try to make a parser or a checker loop, recurse or take long; each at most 1 MB."""

from __future__ import annotations

MB = 1 << 20
RULE = 'rule r {{ title "R" because "b" when {} }}'


def lets(count: int, each: str, first: str = "sm.throughput", when: str = "{} > 3 %") -> str:
    body = f"let x0 = {first}\n" + "\n".join(
        f"let x{n} = {each.format(f'x{n - 1}')}" for n in range(1, count)
    )
    return RULE.format(when.format(f"x{count - 1}"))[:-1] + body + " }"


INPUTS: dict[str, str | bytes] = {
    "empty": "",
    "parentheses": RULE.format("(" * (MB - 99)),
    "many parentheses": "\n".join(RULE.format("(" * 30000) for _ in range(30)),
    "operators": RULE.format("1+" * (MB // 2 - 99)),
    "operators in many params": "\n".join(f"param a.b{n} = " + "1+" * 15000 + "1" for n in range(32)),
    "signs": RULE.format("-" * (MB - 99)),
    "nots": RULE.format("not " * (MB // 4 - 99)),
    "ifs": RULE.format("if a then b else " * (MB // 20)),
    "braces": "{" * MB,
    "closing braces": "}" * MB,
    "quotes": '"' * MB,
    "block quotes": '"""' * (MB // 3),
    "open string": 'cause a "' + "x" * MB,
    "open block": 'cause a """' + "x" * (MB - 99),
    "backslashes": 'cause a "' + "\\" * (MB - 99),
    "comments": "#" * MB,
    "comment lines": "#\n" * (MB // 2),
    "newlines": "\n" * MB,
    "blanks": " " * MB,
    "dots": "." * MB,
    "dashes in an id": "rule " + "a-" * (MB // 2 - 9),
    "dots in a name": "metric " + "a." * (MB // 2 - 9),
    "digits": RULE.format("9" * (MB - 99)),
    "many digits": RULE.format("9" * 60000 + " > 3"),
    "exponents": RULE.format("1e" * (MB // 2 - 99)),
    "huge numbers": RULE.format("1e308 * 1e308 > 1e-320 / 1e300"),
    "huge exponent": RULE.format("1e99999999999 > 1"),
    "unit soup": RULE.format("1 % B KB GB/s ns/ns inst/inst/inst " * 9000),
    "keywords": "rule " * (MB // 5),
    "blocks": "rule r {" * (MB // 8),
    "tests": RULE.format("true")[:-1] + 'test "t" { given a.b = 1 expect fired } ' * 1500 + "}",
    "many causes": "".join(f'cause a{n} "x"\n' for n in range(60000)),
    "many mistakes": "cause\n" * 100000,
    "mistakes in one rule": "rule r {\n" + "fix 3\n" * 9000 + "}",
    "nul": "\0" * MB,
    "nul in a rule": RULE.format("\0 > \0"),
    "latin 1": b'cause a "\xe4\xf6"',
    "utf 16": 'cause a "b"'.encode("utf-16"),
    "random bytes": bytes((n * 7919 >> 3) % 256 for n in range(MB // 4)),
    "control characters": "".join(map(chr, range(32))) * 3000,
    "astral": "😀" * (MB // 4),
    "regex": RULE.format('launch.kernel matches "' + "(a+)+" * 12000 + '"'),
    "nested regex": RULE.format('launch.kernel matches "' + "(" * 120 + "a" + "{1,9})" * 10 + '"'),
    "counted regex": RULE.format('launch.kernel matches "((a{1,100}){1,100}){1,100}"'),
    "lets that double": lets(60, "{0} + {0}"),
    "many lets": lets(1500, "{0} + 1 %"),
    "conditions that double": lets(60, "({0} and {0}) or not {0}", "sm.throughput > 3 %", "{}"),
    "lets that square": lets(60, "{0} * {0}", "3", "{} > 3"),
    "lets that square a metric": lets(60, "{0} * {0}", "sm.throughput * 3"),
    "nested min": RULE.format("min(" * 60 + "sm.throughput" + ", 2 %, memory.throughput)" * 60 + " > 3 %"),
    "open strings": "rule r { " + '"a\n' * 340000,
    "many tests in many rules": "".join(
        f'rule r{n} {{ title "R" because "b" when sm.throughput > 3 % '
        + 'test "t" { given sm.throughput = 1 % expect fired }' * 40
        + " }\n"
        for n in range(500)
    ),
    "test heads": "rule r { " + 'test "x" { ' * 90000,
    "heads that open": 'rule r { title "x" ' * 50000,
    "heads with open blocks": 'rule r { because """ x ' * 45000 + '"""',
    "brackets nine deep": "".join(f"rule r{n} {{ {'(' * 9}{')' * 9} }}\n" for n in range(30000)),
    "metrics of metrics": "".join(
        f'metric a.b{n} {{ unit % meaning "m" source ncu = '
        + " + ".join(f"a.b{k}" for k in range(max(0, n - 90), n))
        + " }\n"
        for n in range(1, 1000)
    ),
    "guards that block nothing": "".join(
        f'guard g{n} {{ title "G" because "b" when sm.throughput > 3 % blocks '
        + ", ".join(f"r{k}" for k in range(90))
        + " }\n"
        for n in range(900)
    ),
    "collect nothing known": RULE.format("true")[:-1]
    + 'collect ncu section "'
    + "SpedOfLight," * 4500
    + '" }',
    "wide table": 'verdict v { title "V" one_of {'
    + "".join(
        f"r{n} when sm.throughput > {n} % and memory.throughput < {n} % and dram.throughput > {n} % "
        for n in range(300)
    )
    + "} }",
    "many params": 'verdict v { title "V" '
    + "".join(f'param p{n} = {n} % in 0 % .. 100 % "x" heuristic ' for n in range(40))
    + "one_of {"
    + "".join(f"r{n} when sm.throughput > p{n} " for n in range(40))
    + "} }",
    "many inputs": RULE.format(
        " and ".join(f"sm.throughput + {n} B > {n} % or dram.bytes * {n} > {n} B" for n in range(45))
    ),
    "chain of rules": "".join(
        f'rule c{n} {{ title "R" because "b" when sm.throughput < 3 % under c{n + 1} }}\n'
        for n in range(3000)
    ),
    "ring of rules": "".join(
        f'rule c{n} {{ title "R" because "b" when fired(c{(n + 1) % 3000}) }}\n' for n in range(3000)
    ),
    "templates": 'rule r { title "R" when true because "' + "{" * 7000 + '" }',
    "long names": f'metric {"a" * 30000}.{"b" * 30000} {{ unit % meaning "m" }}',
    "long misspelt names": RULE.format(" > 1 or ".join("x" * 2000 for _ in range(30))),
    "comparisons": RULE.format(" < ".join("sm.throughput" for _ in range(4000))),
    "sets": RULE.format("launch.kernel in {" + ", ".join(f'"k{n}"' for n in range(6000)) + "}"),
    "many misspelt parents": "".join(
        f'rule abcdef{n} {{ title "R" because "b" when sm.throughput < 3 % under abcdeg{n} }}\n'
        for n in range(3000)
    ),
    "chain of metrics": "".join(
        f'metric m.x{n} {{ unit %  meaning "m"  source ncu = m.x{n + 1} }}\n' for n in range(3000)
    ),
    "versions": 'metric a.b { unit % meaning "m" source ncu version ' + "1." * 30000 + ' .. "x" }',
}
