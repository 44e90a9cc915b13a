import pytest

from braincore.code import extract


def refs(source: str, language: str = "python") -> list[tuple[str, str, str, str]]:
    found = extract("a", source.encode(), language).references
    return [(one.type, one.source, one.target, one.module) for one in found]


def calls(source: str, language: str = "python") -> list[tuple[str, str]]:
    return [one[2:] for one in refs(source, language) if one[0] == "CALLS"]


@pytest.mark.parametrize(
    ("source", "imported", "called"),
    [
        ("import a.b as c\nc.f()", ("a.b", "a.b"), ("a.b.f", "a.b")),
        ("import a.b\na.b.f()", ("a.b", "a.b"), ("a.b.f", "a.b")),
        ("import a.b\na.f()", ("a.b", "a.b"), ("a.f", "a")),
        ("import a\na.b.f()", ("a", "a"), ("a.b.f", "a")),
        ("from .x import y as z\nz()", ("y", ".x"), ("y", ".x")),
        ("from .x import y as z\nz.q()", ("y", ".x"), ("y.q", ".x")),
        ("from . import y\ny.f()", ("y", "."), ("y.f", ".")),
        ("from m import *\nf()", ("*", "m"), ("f", "")),
        ("from __future__ import annotations\nf()", ("annotations", "__future__"), ("f", "")),
    ],
)
def test_python_imports(source: str, imported: tuple[str, str], called: tuple[str, str]) -> None:
    assert refs(source) == [("IMPORTS", "", *imported), ("CALLS", "", *called)]


@pytest.mark.parametrize(
    ("source", "imported", "called"),
    [
        ("import D from 'm'; D.f()", ("default", "m"), ("default.f", "m")),
        ("import {a as b} from 'm'; b()", ("a", "m"), ("a", "m")),
        ("import type {A} from 'm'; new A()", ("A", "m"), ("A", "m")),
        ("import * as ns from 'm'; ns.f()", ("*", "m"), ("f", "m")),
        ("const m = require('m'); m.f()", ("*", "m"), ("f", "m")),
        ("const {a: b} = require('m'); b()", ("a", "m"), ("a", "m")),
        ("const m = await import('m'); m.f()", ("*", "m"), ("f", "m")),
        ("import m = require('m'); m()", ("*", "m"), ("*", "m")),
        ("import 'm'; f()", ("m", "m"), ("f", "")),
        ("export {a} from 'm'; a()", ("a", "m"), ("a", "")),
        ("export * from 'm'; f()", ("*", "m"), ("f", "")),
    ],
)
def test_ecma_imports(source: str, imported: tuple[str, str], called: tuple[str, str]) -> None:
    assert refs(source, "typescript") == [("IMPORTS", "", *imported), ("CALLS", "", *called)]


def test_the_longest_imported_module_wins() -> None:
    source = "import os.path\nimport os\nos.path.join()\nos.getcwd()"
    assert calls(source) == [("os.path.join", "os.path"), ("os.getcwd", "os")]


def test_an_import_is_seen_in_its_own_function_only() -> None:
    source = "def f():\n    import a as x\n    x.g()\ndef h():\n    x.g()\n"
    assert calls(source) == [("a.g", "a"), ("x.g", "")]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("self.foo()", "self.foo"),
        ("super().foo()", "super.foo"),
        ("f[0].foo()", ".foo"),
        ("''.join(x)", ".join"),
        ("a . \\\n b()", "a.b"),
        ("(a\n .b)()", ""),
    ],
)
def test_callees_are_dotted_as_written(source: str, target: str) -> None:
    assert [called for called, _ in calls(source)][:1] == ([target] if target else [])


def test_ecma_callees() -> None:
    source = "a?.b.c(); this.#p(); super(); super.x(); new F.G(); h()!.i(); j!.k(); tag`x`"
    found = [called for called, _ in calls(source, "typescript")]
    assert found == [
        *["a.b.c", "this.#p", "super", "super.x", "F.G", ".i", "h", "j.k", "tag"],
    ]


def test_elements_call_their_component() -> None:
    source = "const A = () => <div><Foo.Bar/><Baz>x</Baz></div>"
    assert refs(source, "tsx") == [("CALLS", "A", "Foo.Bar", ""), ("CALLS", "A", "Baz", "")]


def test_the_source_is_the_innermost_definition() -> None:
    source = "a()\nclass C:\n    b()\n    def m(self):\n        c()\n        def i(): d()\n"
    found = [(one[1], one[2]) for one in refs(source)]
    assert found == [("", "a"), ("C", "b"), ("C.m", "c"), ("C.m.i", "d")]


def test_a_decorator_is_called_by_what_it_decorates() -> None:
    assert refs("@d\ndef f(): pass") == [("CALLS", "f", "d", "")]


def test_inheritance() -> None:
    source = "from m import B as X\nclass A(X, g.C[int], metaclass=M, **k): pass"
    found = [one for one in refs(source) if one[0] == "INHERITS"]
    assert found == [("INHERITS", "A", "B", "m"), ("INHERITS", "A", "g.C", "")]
    source = "class A<T> extends B.C<T> implements I, J<K> {} interface P extends Q, R<S> {}"
    found = [one for one in refs(source, "typescript") if one[0] == "INHERITS"]
    assert [(one[1], one[2]) for one in found] == [
        *[("A", "B.C"), ("A", "I"), ("A", "J"), ("P", "Q"), ("P", "R")],
    ]
    assert refs("class A extends B {}", "javascript") == [("INHERITS", "A", "B", "")]
