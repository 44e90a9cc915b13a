"""What a node id, a signature hash and a body hash do and don't depend on."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braincore.code import extract, fingerprint, module_name
from braincore.model.symbols import Symbol


def only(source: str, language: str = "python", name: str = "f") -> Symbol:
    found = extract("a.x", source.encode(), language).symbols
    return next(one for one in found if one.name == name)


def test_the_node_id_is_the_specified_hash() -> None:
    one = extract("pkg/mod.py", b"class A:\n    def m(self): pass\n", "python").symbols[1]
    joined = f"pkg.mod::A.m\0method\0{one.signature_hash}"
    assert one.node_id == hashlib.sha256(joined.encode()).hexdigest()


def test_the_fingerprint_is_the_specified_hash() -> None:
    one = extract("a.py", b"def f(x): pass", "python", project_id="p").symbols[0]
    joined = "p\0a.py\0f\0function\0def f(x)\0python"
    assert one.fingerprint == hashlib.sha256(joined.encode()).hexdigest()
    assert one.fingerprint == fingerprint("p", "a.py", "f", "function", "def f(x)", "python")


def test_module_names() -> None:
    assert module_name("a/b.py") == "a.b"
    assert module_name("a/__init__.py") == "a.__init__"
    assert module_name("foo-bar.py") == "./foo-bar.py"
    assert module_name("src/x.ts") == "./src/x.ts"


def test_paths_never_share_a_module_name() -> None:
    paths = [
        *["foo-bar.py", "foo_bar.py", "a.py", "a/__init__.py", "a/b.py", "a.b.py", "a.pyi"],
        *["a/b.pyi", "x.ts", "x.js", "x/index.ts", "__init__.py", "__init__/py.py"],
        *["a%3Ab.js", "a:b.js", "a::b.js"],
    ]
    assert len({module_name(path) for path in paths}) == len(paths)


@given(st.sets(st.text("ab./_-:%", min_size=1, max_size=8).map(lambda stem: stem + ".py")))
def test_module_names_are_injective(paths: set[str]) -> None:
    names = {module_name(path) for path in paths}
    assert len(names) == len(paths)
    assert not any("::" in name for name in names)


def test_getter_setter_and_overloads_are_different_symbols() -> None:
    source = (
        "class A:\n    @property\n    def p(self): return 1\n    @p.setter\n"
        "    def p(self, v): pass\n    @overload\n    def o(self, a: int): ...\n"
        "    @overload\n    def o(self, a: str): ...\n    def o(self, a): ...\n"
    )
    found = extract("a.py", source.encode(), "python").symbols
    assert [one.kind for one in found] == [
        *["class", "getter", "setter", "method", "method", "method"],
    ]
    assert len({one.node_id for one in found}) == 6


TWINS = "def g(a):\n    return 1\n", "def g(a):\n    return 2\n"


def test_twins_keep_their_ids_when_they_change_places() -> None:
    before = extract("a.py", "".join(TWINS).encode(), "python").symbols
    after = extract("a.py", "".join(reversed(TWINS)).encode(), "python").symbols
    assert {one.body_hash: one.node_id for one in before} == {
        one.body_hash: one.node_id for one in after
    }
    assert len({one.node_id for one in before}) == 2


def test_exact_copies_are_two_symbols() -> None:
    source = "def o():\n    def inner(): pass\n    def inner(): pass\n"
    found = extract("a.py", source.encode(), "python").symbols
    assert [one.qualified_name for one in found] == ["o", "o.inner", "o.inner"]
    assert len({one.node_id for one in found}) == 3


def test_the_same_code_in_two_files_is_two_symbols() -> None:
    ids = {
        extract(path, b"def f(): pass", "python").symbols[0].node_id
        for path in ("foo-bar.py", "foo_bar.py", "foo_bar/__init__.py")
    }
    assert len(ids) == 3


@pytest.mark.parametrize(
    ("left", "right", "language"),
    [
        ("def f(a): pass", "def f(a=1): pass", "python"),
        ("def f(a): pass", "def f(b): pass", "python"),
        ("def f(a, b): pass", "def f(b, a): pass", "python"),
        ("def f(a): pass", "def f(a: int): pass", "python"),
        ("def f(a): pass", "def f(*, a): pass", "python"),
        ("def f(a): pass", "def f(a, /): pass", "python"),
        ("def f(a): pass", "def f(*a): pass", "python"),
        ("def f(a): pass", "def f(a) -> int: pass", "python"),
        ("def f(a): pass", "async def f(a): pass", "python"),
        ("class A:\n def f(a): pass", "class A:\n @staticmethod\n def f(a): pass", "python"),
        ("class A:\n def f(a): pass", "class A:\n @classmethod\n def f(a): pass", "python"),
        ("class f(A): pass", "class f(B): pass", "python"),
        ("f = (a: A) => a", "f = (a: B) => a", "typescript"),
        ("function f(a) {}", "function f(a, b) {}", "javascript"),
        ("function f(a) {}", "function f(a = 1) {}", "javascript"),
        ("function f(a) {}", "function f(...a) {}", "javascript"),
        ("function f(a) {}", "async function f(a) {}", "javascript"),
        ("function f(a) {}", "function* f(a) {}", "javascript"),
        ("function f({a}) {}", "function f({b}) {}", "javascript"),
        ("class A { f() {} }", "class A { static f() {} }", "javascript"),
        ("function f(a: A) {}", "function f(a?: A) {}", "typescript"),
        ("function f(a: A) {}", "function f(a: A): B {}", "typescript"),
        ("function f(a: A) {}", "function f<T>(a: A) {}", "typescript"),
        ("class A { f() {} }", "class A { private f() {} }", "typescript"),
        ("interface f {}", "interface f extends B {}", "typescript"),
    ],
)
def test_what_breaks_callers_changes_the_signature_hash(
    left: str, right: str, language: str
) -> None:
    if left.startswith("f ="):
        left, right = f"const {left}", f"const {right}"
    assert only(left, language).signature_hash != only(right, language).signature_hash


@pytest.mark.parametrize(
    ("left", "right", "language"),
    [
        ("def f(a=1): pass", "def f(a=2): pass", "python"),
        ("def f(a, /): pass", "def f(b, /): pass", "python"),
        ("def f(*a, **b): pass", "def f(*c, **d): pass", "python"),
        ("class A:\n def f(self, a): pass", "class A:\n def f(this, a): pass", "python"),
        ("def f(a,\n  b, # c\n): pass", "def f(a, b): return 1", "python"),
        ("function f(a) {}", "function f(b) { return 1 }", "javascript"),
        ("const f = (a) => 1", "const f = a => 2", "javascript"),
        ("function f(a = 1) {}", "function f(a = 2) {}", "javascript"),
    ],
)
def test_what_callers_do_not_see_keeps_the_signature_hash(
    left: str, right: str, language: str
) -> None:
    assert only(left, language).signature_hash == only(right, language).signature_hash


def test_a_renamed_function_keeps_signature_and_body_hash() -> None:
    before, after = only("def f(a): return a"), only("def get(a): return a", name="get")
    assert before.signature_hash == after.signature_hash
    assert before.body_hash == after.body_hash
    assert before.text_hash != after.text_hash


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("def f():\n if x:\n  a\n  b", "def f():\n if x:\n  a\n b"),
        ("def f(): return 'a'", "def f(): return 'b'"),
        ("def f(): return a\n", "def f(): return b\n"),
    ],
)
def test_what_the_body_does_changes_its_hash(left: str, right: str) -> None:
    assert only(left).body_hash != only(right).body_hash


_NAMES = st.sampled_from(["alpha", "beta", "Gamma", "run"])
_LINES = st.sampled_from(
    [
        "x = 1",
        "call(a, 'b  c')",
        "return {1: [2]}",
        "y: int = f'{a}'",
        "if x: pass",
        "s = '''q\nr'''",
    ]
)
_Tree = tuple[str, str, list["_Tree | str"]]
_TREES = st.recursive(
    _LINES,
    lambda inner: st.tuples(
        st.sampled_from(["def {}(self, a=1):", "class {}(B):", "async def {}(*, k: int):"]),
        _NAMES,
        st.lists(inner, min_size=1, max_size=4),
    ),
    max_leaves=12,
)


def written(tree: object, indent: int, step: int, noise: bool) -> str:
    """A tree as Python: with `noise`, comments, blank lines and another spacing."""
    pad = " " * indent
    comment = f"{pad}# noise ( ' {{\n\n" if noise else ""
    if isinstance(tree, str):
        end = "  # why" if noise else ""
        line = tree.replace("(a, ", "(\n  a  ,  ") if noise else tree
        return f"{comment}{pad}{line}{end}\n"
    assert isinstance(tree, tuple)
    head, name, inner = tree
    text = head.format(name)
    if noise:
        text = text.replace("(", "(  # c\n").replace(", ", " ,\n\n  ") + "  # end"
    body = "".join(written(one, indent + step, step, noise) for one in inner)
    return f"{comment}{pad}{text}\n{body}"


@given(st.lists(_TREES, min_size=1, max_size=5))
def test_layout_and_comments_leave_every_identity_alone(trees: list[object]) -> None:
    plain = "".join(written(tree, 0, 4, False) for tree in trees)
    noisy = "".join(written(tree, 0, 2, True) for tree in trees).replace("\n", "\r\n")
    before = extract("a.py", plain.encode(), "python")
    after = extract("a.py", noisy.encode(), "python")
    assert not before.has_error and not after.has_error
    assert len({one.node_id for one in before.symbols}) == len(before.symbols)

    def identity(one: Symbol) -> tuple[str, ...]:
        return one.node_id, one.body_hash, one.text_hash, one.fingerprint

    assert [identity(one) for one in before.symbols] == [identity(one) for one in after.symbols]


def test_layout_and_comments_leave_ecma_identities_alone() -> None:
    plain = "class A { f(a, b = 1) { return g(`x${a}`, /'/); } }\nconst h = (x) => x + 1;\n"
    noisy = (
        "class A {\n  // c\n  f(\n    a, // a\n    b = 1\n  ) {\n    return g(\n      `x${a}`,"
        " /* ' */ /'/);\n  }\n}\n\nconst h = (\n  x,\n) => x\n  + 1;\n"
    )
    for language in ("javascript", "typescript", "tsx"):
        before = extract("a", plain.encode(), language).symbols
        after = extract("a", noisy.encode(), language).symbols
        assert [(one.node_id, one.body_hash, one.text_hash) for one in before] == [
            (one.node_id, one.body_hash, one.text_hash) for one in after
        ]
