#!/usr/bin/env python3
"""Writes chat_templates.json: templates, and what Jinja renders of them as Hugging Face's transformers set it up.

  make_chat_templates.py > chat_templates.json         # needs Jinja2 3.1 (Debian: python3-jinja2)

An entry is a source and its text, or null where Jinja refuses it. Those of SOURCES use a construct each; the others are drawn.
"""

import json
import random
import sys

from jinja2.exceptions import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

DRAWN = 120
VARIABLES = {
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": " Hi \n"},
                 {"role": "assistant", "content": "", "tool_calls": [{"id": "abcdefghi", "function": {"name": "now", "arguments": {"at": "Bern"}}}]},
                 {"role": "tool", "content": {"content": "noon"}}, {"role": "user", "content": "Why?"}],
    "tools": [{"type": "function", "function": {"name": "now", "parameters": {"at": {"type": "string"}, "in": {"type": ["integer", "boolean"]}}}}],
    "add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>", "documents": None, "d": {"a": 1, "b": [1, "x", None, True], "c": {"k": "v"}},
    "s": "h\u00e9llo", "t": "a<sep>b<sep>c", "t1": "h a", "t2": "abh", "n1": 2, "n2": 0, "l1": ["a", 1, "h a"], "l2": []}

SOURCES = r"""
{% macro f() %}{{ x }}{% endmacro %}{{ f() }}{% set x = 1 %}{{ f() }}
{% macro f(a, b=a) %}<{{ a }},{{ b }}>{% endmacro %}{{ f(1) }}{{ f(1,2) }}{{ f(b=3) }}{{ f(b=3,a=2) }}
{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(5) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1,2) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(b=2) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1,a=2) }}
{% macro f(a) %}{{ a is defined }}{% endmacro %}{{ f() }}{{ f(zz) }}
{% macro f(a=1) %}{{ a is defined }}{{ a }}{% endmacro %}{{ f(zz) }}
{% macro f() %}{{ eos_token }}{% endmacro %}{{ f() }}{% set eos_token = 1 %}
{% macro f() %}{% set eos_token = 5 %}{{ eos_token }}{% endmacro %}{{ f() }}{{ eos_token }}
{% macro f(x) %}{% for i in x %}[{{ i }}{% if i is not string %}{{ f(i) }}{% endif %}]{% endfor %}{% endmacro %}{{ f(['a', 'b']) }}
{% for m in messages %}{% macro g() %}{{ m.role }}{{ loop.index }}{% endmacro %}{{ g() }}{% endfor %}{{ g is defined }}
{% macro outer(x) %}{% macro inner(y) %}{{ x }}{{ y }}{% endmacro %}{{ inner(1) }}{{ inner(2) }}{% endmacro %}{{ outer('q') }}
{{ f() }}{% macro f() %}a{% endmacro %}
{% if true %}{% macro f() %}a{% endmacro %}{% endif %}{{ f() }}
{% macro f(a) %}{% set a = a ~ '!' %}{{ a }}{% endmacro %}{% set a = 'out' %}{{ f('in') }}{{ a }}
{% set x = 'a' %}{% macro f() %}{{ x }}{% endmacro %}{% set x = 'b' %}{{ f() }}{% for i in [1] %}{% set x = 'c' %}{{ f() }}{{ x }}{% endfor %}
{% for m in messages %}{{ eos_token }}{% endfor %}{% set eos_token = 'x' %}
{% for m in messages %}{% for n in [1] %}{{ bos_token }}{% endfor %}{% set bos_token = 'a' %}{% endfor %}
{{ eos_token }}{% for m in messages %}{{ eos_token }}{% endfor %}{% set eos_token = 'x' %}{{ eos_token }}
{% if false %}{% set eos_token = 'x' %}{% endif %}{{ eos_token }}
{% for i in [1,2] %}{% if i == 1 %}{% set eos_token = 'x' %}{% endif %}{{ eos_token }}{% endfor %}{{ eos_token }}
{% for x in [1,2] %}{% for y in [3,4] %}{% set x = y %}{{ x }}{% endfor %}{{ x }}{% endfor %}
{% set ns = namespace(a=1, b='x') %}{% for i in [1,2,3] %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}{{ ns.b }}{{ ns.c }}{{ ns['a'] }}
{% set ns = namespace() %}{% set ns.items = 3 %}{{ ns.items }}{% set ns = namespace({'q': 1}, r=2) %}{{ ns.q }}{{ ns.r }}
{% set ns.x = 1 %}
{% set ns = namespace(x=[]) %}{% for m in messages %}{% set ns.x = ns.x + [m.role] %}{% endfor %}{{ ns.x | join(', ') }}
{% set ns = namespace(n=0) %}{% for m in messages if ns.n < 2 %}{{ m.role }}{% set ns.n = ns.n + 1 %}{% endfor %}
{% set ns = namespace(n=0) %}{% for m in messages if ns.n < 2 %}{{ m.role }}{{ loop.last }}{% set ns.n = ns.n + 1 %}{% endfor %}
{% set ns = namespace(n=0) %}{% for m in messages if ns.n < 2 %}{{ m.role }}{{ loop.length }}{% set ns.n = ns.n + 1 %}{% endfor %}
{{ {'a': 1, 'b': {'c': [1, 2]}, 'e': {}, 'f': []} | tojson }}{{ {'a': 1, 'b': {'c': [1, 2]}, 'e': {}, 'f': []} | tojson(indent=4) }}
{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }}{% if not loop.last %}, {% endif %}{% endfor %}
{% for k, v in d | items %}{{ k }}={{ v | tojson }};{{ loop.length }}{% endfor %}{% for k, v in zz | items %}{{ k }}{% endfor %}
{% for k in d %}{{ k }}{% endfor %}{% for k in d.keys() %}{{ k }}{% endfor %}{% for k in d.values() %}{{ k | tojson }}{% endfor %}
{{ d.a }}{{ d['b'][1] }}{{ d.c.k }}{{ d.missing }}{{ d['missing'] is defined }}{{ d.get('a') }}{{ d.get('z') }}{{ d.get('z', 5) }}
{{ messages[0] == messages[0] }}{{ messages[0] == messages[1] }}{{ messages == messages[:] }}{{ [1,2] == (1,2) }}{{ {'a':1,'b':2} == {'b':2,'a':true} }}
{% set u = messages | selectattr('role', 'equalto', 'user') | list %}{{ u | length }}{% for m in messages %}{{ m == u[-1] }}{% endfor %}
{{ messages | rejectattr('role', 'in', ['user']) | list | length }}{{ ['a','b'] | reject('equalto','a') | join(',') }}{{ [1,0,2] | select | join }}
{% for m in messages if m.role != 'system' %}{{ loop.index }}/{{ loop.length }}{{ m.role }}{{ loop.last }};{% endfor %}
{{ s[1] }}{{ s[-1] }}{{ s[1:3] }}{{ s[::-1] }}{{ s[:-1] }}{{ s[99] }}{{ s[::2] }}{{ s | length }}{{ [1,2,3][5:0:-1] | tojson }}
{{ t.split('<sep>')[-1] }}{{ '  a b  c '.split() | tojson }}{{ ''.split('x') | tojson }}{{ 'xax'.split('x') | tojson }}
{{ 'xxaxx'.strip('x') }}{{ 'abcba'.lstrip('ab') }}{{ '\n\nq\n'.rstrip('\n') }}|{{ 'é1é'.strip('é') }}
{{ 'x' is string }}{{ true is number }}{{ true is boolean }}{{ 1 is integer }}{{ true is integer }}{{ d is mapping }}{{ messages is mapping }}
{{ 's' is iterable }}{{ none is iterable }}{{ zz is iterable }}{{ d is sequence }}{{ d.items() is sequence }}{{ 1 is true }}{{ false is false }}
{{ raise_exception is defined }}{{ strftime_now is defined }}{{ namespace is defined }}{{ foo is defined }}{{ foo is undefined }}
{{ zz | length }}{{ zz | default('q') }}{{ '' | default('q') }}{{ '' | default('q', true) }}{{ 1 | trim }}{{ none | trim }}{{ d | list | tojson }}
{{ missing.x }}
{{ missing[1:] }}
{{ messages[0].content.content is defined }}{{ (1).x is defined }}{{ none.x is defined }}{{ none[0] is defined }}{{ (1, 2)[5] is defined }}
{{ 'a' < 'b' }}{{ 'é' > 'z' }}{{ 1 < true }}{{ ((1,) + (2,)) | tojson }}{{ () | tojson }}{{ (1) | tojson }}
{{ 1 < 'a' }}
{{ {'a': {'b': {'c': 1}}}['a']['b']['c'] }}{{- {'a': {'b': 1}}.a.b -}}{{ {'a': 1, 'a': 2} | tojson }}
{% for x, y in [[1,2],(3,4)] %}{{ x + y }},{% endfor %}{% for a, b in ['xy'] %}{{ b }}{{ a }}{% endfor %}
{% for x, y in [[1,2,3]] %}{{ x }}{% endfor %}
{% for x in none %}{% endfor %}
{{ set }}{{ for }}{{ if }}{{ else }}{{ elif }}{{ and }}{{ or }}{{ in }}{{ is }}{{ [and, or, not defined] | length }}{{ is is defined }}{{ in in [1] }}
{% set set = 3 %}{{ set }}{% for in in [1, 2] %}{{ in }}{% endfor %}{% set if = 1 %}{{ 2 if if }}{% if if %}a{% endif %}{% for x in [if] if if %}{{ x }}{% endfor %}
{% set not = 1 %}{{ 1 + not }}{% set and = 5 %}{{ and and and }}{{ else if or else else }}
{{ not }}
{{ if.x }}
{{ 'a' is equalto 'a' }}{{ 1 is in [1,2] }}{{ 2 is not in [1] }}{{ none in [none] }}{{ 'q' in zz }}{{ d.items() | length }}
{% macro f(a, a) %}{% endmacro %}
{% macro f(a=1, b) %}{% endmacro %}
{%- for m in messages %}{%- if m.tool_calls is defined %}{% set c = m.tool_calls[0].function | tojson %}{{ c[:-1] }}, "id": "{{ m.tool_calls[0].id }}"}{% elif m.content.content is defined %}{{ m.content.content }}{% else %}{{ m.content | trim }}{% endif %}{% endfor %}
{% macro type(x) %}{% set short = {"string": "str", "integer": "int"} %}{% if short[x.type] is defined %}{{ short[x.type] }}{% elif x.type is iterable and x.type is not string %}Union[{% for y in x.type %}{{ type({"type": y}) }}{{ "," if not loop.last }}{% endfor %}]{% else %}Any{% endif %}{% endmacro %}{% for tool in tools %}{{ tool.function.name }}({% for k, v in tool.function.parameters | items %}{{ k }}: {{ type(v) }}{{ ", " if not loop.last }}{% endfor %}){% endfor %}
{% for tool in tools %}{% set tool = tool.function %}{% for key, val in tool.items() if key != "name" %}{{ key }}{{ val | tojson(indent=2) }}{{ loop.last }}{% endfor %}{% endfor %}
{% set ns = namespace(last=messages|length - 1, found=false) %}{% for m in messages[::-1] %}{% set i = (messages|length - 1) - loop.index0 %}{% if not ns.found and m.role == "user" %}{% set ns.found = true %}{% set ns.last = i %}{% endif %}{% endfor %}{{ ns.last }}{{ ns.found is true }}
""".strip().split("\n")


class Drawn:
    """Sources whose values mostly have the types that they need."""

    def __init__(self, seed):
        self.draw, self.depth = random.Random(seed), 0

    def one(self, *choices):
        """Of texts one, in which N, T, L, C and V are a number, a text, a list, a condition and any value."""
        self.depth += 1
        shallow = {"N": ("n1", "n2", "3", "-1"), "T": ("t1", "t2", "'q'"), "L": ("l1", "l2", "[]"), "C": ("true", "n1", "l1"), "V": ("n1", "t1", "none")}
        text = ""
        for c in self.draw.choice(choices):
            if c in shallow:
                text += self.draw.choice(shallow[c]) if self.depth > 4 else getattr(self, c)()
            else:
                text += c
        self.depth -= 1
        return text

    def N(self):
        return self.one("n1", "n2", "ns.n", "4", "N + N", "N - 2", "N * 3", "N % 3", "(N)", "(L) | length", "(T) | length", "(n1 if C else 2)",
                        "(loop.length if loop is defined else 1)", "(loop.index if loop is defined else 0)")

    def T(self):
        return self.one("t1", "t2", "s", "bos_token", "zz", "ns.t", "'a'", "'h\u00e9'", "''", "(T ~ T)", "(t1 + s)", "(T)[1:]", "(T)[::-1]", "(T)[-2:n1]",
                        "(T) | trim", "t1.strip('a')", "messages[-1].content", "messages[1]['role']", "f(V)", "f(V, b=T)", "g(V)", "h()", "(L) | join(T)", "(V) | tojson",
                        "(V) | tojson(indent=2)", "(T)[0]", "(T if C else T)", "d.get('k', T)", "(t if C)")

    def L(self):
        return self.one("l1", "l2", "messages", "d.b", "[1, 2]", "[V, V]", "(L)[1:]", "(L)[::-1]", "(l1 + L)", "d | list", "(T) | list", "ns.l", "t.split('<sep>')",
                        "messages | selectattr('role', 'equalto', 'user') | list", "(L) | reject('equalto', T) | list", "(L) | select | list", "d.keys() | list")

    def C(self):
        return self.one("((V) == (V))", "((V) != (V))", "(V) is defined", "(V) is not none", "(V) is string", "(V) is mapping", "(V) is iterable", "(V) is number", "(N < N)",
                        "(N >= N)", "(T in messages)", "(T not in d)", "(C and C)", "(C or C)", "not C", "V", "loop is defined", "x is defined", "t2.endswith(t1)")

    def V(self):
        return self.one("N", "T", "L", "C", "none", "true", "zz", "d", "x", "{'a': V, 'k': V}", "(N, T)", "messages[0]")

    def tag(self, body):
        return f"{self.draw.choice(['{%', '{%-', '{%', '{%+'])} {body} {self.draw.choice(['%}', '-%}', '%}', '+%}'])}"

    def block(self, depth=0):
        text = ""
        for _ in range(self.draw.randrange(1, 4)):
            text += self.draw.choice(["", "\n", " ", "a", "  \n", "\n  ", "b\n", "\t"]) + self.statement(depth)
        return text

    def statement(self, depth):
        which = self.draw.random() if depth < 3 else 0
        if which < 0.35:
            return self.draw.choice(["{{", "{{-"]) + " " + self.one("T", "N", "(C) is true", "T") + " " + self.draw.choice(["}}", "-}}"])
        if which < 0.6:
            return self.tag(self.one("set t1 = T", "set t2 = T", "set x = V", "set n1 = N", "set l1 = L", "set ns.n = N", "set ns.t = T", "set ns.l = L", "set bos_token = T"))
        if which < 0.75:
            text = self.tag(self.one("if C")) + self.block(depth + 1)
            if self.draw.random() < 0.4:
                text += self.tag(self.one("elif C")) + self.block(depth + 1)
            if self.draw.random() < 0.5:
                text += self.tag("else") + self.block(depth + 1)
            return text + self.tag("endif")
        if which < 0.93:
            head = self.one("for x in L", "for m in L", "for t1 in L", "for x in L if C", "for k, v in d.items()", "for k, t1 in d | items if C")
            return self.tag(head) + self.block(depth + 1) + self.tag("endfor")
        return self.tag(self.one("macro f(a, b=1)", "macro g(a=t1, b=n1)", "macro f(t1, b=t1)")) + self.block(depth + 1) + self.tag("endmacro")

    def source(self):
        return ("{% set ns = namespace(n=1, t='x', l=['u']) %}{% macro f(a, b=2) %}<{{ a | tojson if a is defined }}|{{ b is string }}>{% endmacro %}"
                "{% macro g(a) %}{{ b }}{% if a is string %}{{ a }}{% endif %}{% endmacro %}{% macro h() %}h{{ t1 if t1 is string }}{% endmacro %}" + self.block())


def environment():
    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise TemplateError(message)

    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    made.filters["tojson"] = tojson
    made.globals.update(raise_exception=raise_exception, strftime_now=str)
    return made


def main():
    jinja, cases = environment(), []
    for source in SOURCES + [Drawn(seed).source() for seed in range(DRAWN)]:
        try:
            text = jinja.from_string(source).render(**VARIABLES)
        except (TemplateError, TypeError, ValueError, SyntaxError):
            text = None
        cases.append({"source": source, "text": text})
    sys.stdout.write('{"variables": ' + json.dumps(VARIABLES) + ',\n"cases": [\n' + ",\n".join(map(json.dumps, cases)) + "\n]}\n")


if __name__ == "__main__":
    main()
