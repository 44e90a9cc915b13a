"""Repositories as people have them: odd places, odd shapes, odd files; clear words, no loss."""

import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FACT = ("Parcels leave at noon", "parcel_time")
ASK = ("recall", "when do parcels leave?", "--target", "parcel_time")


def ids(body: dict[str, Any]) -> list[str]:
    return [fact["id"] for fact in body["facts"]]


def test_places_without_a_worktree(desk: Any) -> None:
    desk.root.mkdir()
    for verb in ("init", "status"):
        said = desk.error(verb)
        assert f"{desk.root} is not inside a git repository. Run `git init` there first" in said
    bare = desk.folder / "bare.git"
    desk.git("init", "-q", "--bare", str(bare), cwd=desk.folder)
    for folder in (bare, bare / "refs"):
        assert "is a bare repository. Run braincore in a worktree" in desk.error("init", cwd=folder)
    (desk.root / ".git").write_text("gitdir: /no/such/place\n")
    assert "not inside a git repository" in desk.error("init")
    (desk.root / ".git").write_bytes(b"\xff\x00")
    assert "not inside a git repository" in desk.error("init")
    (desk.root / ".git").unlink()
    (desk.root / ".git").mkdir()
    assert "not inside a git repository" in desk.error("init")
    loop = desk.folder / "loop"
    loop.symlink_to(loop)
    assert str(loop) in desk.error("init", "-C", str(loop))
    gone = desk.folder / "gone"
    gone.mkdir()
    command = f"rmdir '{gone}' && '{sys.executable}' -m braincore.cli.main status"
    done = subprocess.run(["sh", "-c", command], cwd=gone, env=desk.env, capture_output=True)
    assert done.returncode == 1 and b"the working directory was deleted" in done.stderr
    assert not list(desk.run_dir.iterdir())


def test_unborn_branch_then_first_commit(desk: Any) -> None:
    desk.make({}, commit=False)
    body = desk.json("init")
    assert body["files"] == 0
    record = desk.remember(*FACT)
    assert ids(desk.json(*ASK)) == [record] and desk.json("status")["branch"] == "(unborn)"
    words = ["--title=a b", "--broke=c d", "--why=e f", "--fix=g h", "--evidence=commit:HEAD"]
    assert "HEAD" in desk.error("fail", *words)
    desk.write({"app.py": "def f():\n    return 1\n"})
    desk.git("add", "-A")
    desk.git("commit", "-qm", "first")
    assert desk.json("status")["branch"] == "main" and desk.json("index")["symbols"] == 1


@pytest.mark.parametrize(
    "name",
    [
        "a 'b' \"c\" $HOME `x` #[y] %41 -d ;& new\nline café-血条-\U0001f9e0 e\u0301",
        "/".join(["deep" * 12] * 6),
    ],
)
def test_path_of_the_repository(another: Any, name: str) -> None:
    desk = another(name)
    desk.make()
    desk.run("init", "--client", "claude")
    record = desk.remember(*FACT)
    assert ids(desk.json(*ASK)) == [record]
    event = desk.payload("PreToolUse.Write", file_path=f"{desk.root}/a.py", content="eval(x)\n")
    assert b'"permissionDecision": "deny"' in desk.hook(event).stdout
    new = desk.folder / "new file.py"
    new.write_text("eval(x)\n")
    desk.json("check", "--file", "app.py", "--content", str(new), code=2)
    desk.run("stop")
    assert ids(desk.json(*ASK)) == [record]
    assert desk.git("log", "-1", "--format=%s", cwd=desk.root / ".braincore/memory")
    desk.run("uninstall")


def test_path_that_is_no_utf8(another: Any) -> None:
    desk = another("not-utf8-\udcff")
    desk.make()
    assert "is not UTF-8. Rename the folder" in desk.error("init")


def test_shallow_clone(brain: Any, another: Any) -> None:
    for number in range(3):
        brain.write({"app.py": f"def f():\n    return {number}\n"})
        brain.git("commit", "-qam", f"step {number}")
    clone = another("clone")
    url = f"file://{brain.root}"
    brain.git("clone", "-q", "--depth", "1", url, str(clone.root), cwd=brain.folder)
    clone.run("init")
    head = clone.git("rev-parse", "HEAD")
    words = ["--title", "Returned two", "--broke", "the sum", "--why", "typo", "--fix", "one"]
    body = clone.json("fail", *words, "--evidence", f"commit:{head}", "--fragment", "app.py:1-2")
    assert body["outcome"] == "stored"
    gone = brain.git("rev-parse", "HEAD~2")
    assert gone in clone.error("fail", *words, "--evidence", f"commit:{gone}")


def test_moved_and_copied(brain: Any, owners: Any, until: Any) -> None:
    record = brain.remember(*FACT)
    old, moved = brain.root, brain.folder / "moved"
    first = brain.owner()
    old.rename(moved)
    brain.root = moved
    status = brain.json("status")
    assert status["root"] == str(moved) and status["pid"] != first
    assert ids(brain.json(*ASK)) == [record]
    assert brain.git("log", "-1", "--format=%H", cwd=moved / ".braincore/memory")
    until(lambda: first not in owners(brain.folder), "the owner of the old place leaves")

    copy = brain.folder / "copy"
    shutil.copytree(moved, copy, symlinks=True, ignore=lambda *_: ["*.sock"])
    there = ("-C", str(copy))
    mine = brain.remember("The moved one likes tea", "drink")
    theirs = brain.remember("The copied one likes coffee", "drink_too", *there)
    assert record in brain.logged() and mine in brain.logged()
    told = {i for e in brain.json("log", "-n", "99", *there)["log"] for i in e["records"]}
    assert {record, theirs} <= told and mine not in told and theirs not in brain.logged()
    assert len(owners(brain.folder)) == 2
    for folder, own, other in ((moved, mine, theirs), (copy, theirs, mine)):
        assert other not in brain.kept(own, root=folder)
        log = brain.git("log", "--format=%b", cwd=folder / ".braincore/memory")
        assert own in log and other not in log
    assert brain.json("rebuild", *there)["equal"] is True


def test_worktrees_share_the_brain_and_keep_their_rules(brain: Any, owners: Any) -> None:
    brain.run("init", "--client", "claude")
    brain.git("add", ".braincore")
    brain.git("commit", "-qm", "brain")
    tree = brain.folder / "tree"
    brain.git("worktree", "add", "-q", str(tree))
    rule = "id: no-print\nmessage: print\nwhy: noise\nseverity: high\ncategory: code\n"
    rule += "languages: [python]\nrule:\n  pattern: print($$$A)\nrepair: use the log\n"
    (tree / ".braincore/rules").mkdir(exist_ok=True)
    (tree / ".braincore/rules/own.yml").write_text(rule)
    (tree / "only.py").write_text("def there():\n    return 1\n")
    there = ("-C", str(tree))
    record = brain.remember(*FACT)
    assert ids(brain.json(*ASK, *there)) == [record]
    other = brain.remember("The tree is green", "tree_colour", "--symbol", "only.py::there", *there)
    assert {record, other} <= brain.logged()
    assert len(owners(brain.folder)) == 1
    assert brain.json("status", *there)["branch"] == "tree"
    for content, code in ((b"print(1)\n", 2), (b"x = 1\n", 0)):
        words = ("check", "--file", "a.py", "--content", "-")
        brain.json(*words, *there, stdin=content, code=code)
        brain.json(*words, stdin=content)
    for text in ("print(1)\n", "eval(x)\n"):
        event = brain.payload("PreToolUse.Write", file_path=str(tree / "a.py"), content=text)
        event["cwd"] = str(tree)
        assert b'"deny"' in brain.hook(event, cwd=tree).stdout, text
    brain.kept(record, other, root=tree)
    # The worktree that the owner began in may go; the brain stays.
    brain.run("stop")
    assert ids(brain.json(*ASK, *there)) == [record]
    brain.git("worktree", "remove", "--force", str(tree))
    assert ids(brain.json(*ASK)) == [record]
    assert (
        brain.json("check", "--file", "a.py", "--content", "-", stdin=b"x = 1\n")["findings"] == []
    )


def test_submodule_has_its_own_brain_or_the_superprojects(brain: Any, another: Any) -> None:
    library = another("lib")
    library.make({"lib.py": "def f():\n    return 1\n"})
    brain.git("submodule", "add", "-q", str(library.root), "lib")
    brain.run("init", "--client", "claude")
    inside = brain.root / "lib"
    assert (inside / ".git").is_file()
    event = brain.payload("PreToolUse.Write", file_path=str(inside / "a.py"), content="eval(x)\n")
    event["cwd"] = str(inside)
    assert b'"deny"' in brain.hook(event, cwd=inside).stdout
    brain.run("init", cwd=inside)
    own = brain.remember("The library is small", "lib_size", cwd=inside)
    assert own not in brain.logged()
    assert (brain.root / ".git/modules/lib/braincore/journal.git").is_dir()
    assert b'"deny"' in brain.hook(event, cwd=inside).stdout


def test_brain_folder_in_the_way(desk: Any) -> None:
    desk.make()
    elsewhere = desk.folder / "elsewhere"
    elsewhere.mkdir()
    place = desk.root / ".braincore"
    place.symlink_to(elsewhere)
    assert f"{place} is a symbolic link. Move it away" in desk.error("init")
    assert list(elsewhere.iterdir()) == []
    place.unlink()
    place.write_text("mine")
    assert f"{place} is no folder. Move it away" in desk.error("init")
    assert place.read_text() == "mine"
    place.unlink()
    desk.store.write_text("mine")
    assert f"{desk.store} is no folder" in desk.error("init")
    desk.store.unlink()
    desk.run("init")
    # Later on: what was a folder is a file, or a link out of the tree.
    desk.run("stop")
    shutil.rmtree(place)
    place.write_text("mine")
    record = desk.remember(*FACT)
    assert ids(desk.json(*ASK)) == [record] and place.read_text() == "mine"
    desk.run("stop")
    place.unlink()
    place.symlink_to(elsewhere)
    assert ids(desk.json(*ASK)) == [record]
    place.unlink()
    desk.run("init")
    desk.kept(record)


def test_files_of_every_kind(desk: Any) -> None:
    text = "def load(text):\n    return int(text)\n"
    desk.make({"app.py": text})
    desk.write(
        {
            "broken.py": "def f(:\n  return ((\n\ndef g():\n    return 1\n",
            "binary.py": bytes(range(256)) * 40,
            "nul.py": "x = 1\n\x00y = 2\n",
            "crlf.py": text.replace("load", "crlf").replace("\n", "\r\n"),
            "bom.py": b"\xef\xbb\xbf" + text.replace("load", "bom").encode(),
            "latin.py": b"# caf\xe9\ndef latin():\n    return '\xe9'\n",
            "utf16.py": text.replace("load", "wide").encode("utf-16"),
            "empty.py": b"",
            "min.js": "var a=" + "[1," * 300_000 + "1" + "]" * 300_000,
            "caf\u00e9.py": text.replace("load", "accented"),
            "a -> b.py": text.replace("load", "arrow"),
            "rule.yml": "a: [",
            ".braincore/rules/good.yml": "id: good\nmessage: m\nwhy: w\nseverity: low\n"
            "category: code\nlanguages: [python]\nrule: {pattern: never_seen($A)}\n",
            ".braincore/rules/bad.yml": "id: bad\nmessage: [\n",
            ".braincore/rules/odd.yml": b"\xff\xfe\x00",
            ".braincore/rules/list.yml": "- 1\n- 2\n",
            ".braincore/rules/null.yml": "",
        }
    )
    with (desk.root / "huge.py").open("wb") as file:
        file.truncate(50 << 20)
    (desk.root / "loop").symlink_to(desk.root / "loop")
    (desk.root / "around").symlink_to(desk.root)
    outside = desk.folder / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("def secret():\n    return 1\n")
    (desk.root / "out").symlink_to(outside)
    (desk.root / "secret.py").symlink_to(outside / "secret.py")
    os.mkfifo(desk.root / "pipe.py")
    (desk.root / "not-\udcff.py").write_text("x = 1\n")

    body = desk.json("init")
    skipped = {one["path"] for one in body["skipped"]}
    assert "huge.py" in skipped and "secret.py" not in skipped
    assert body["syntax_errors"] >= 1
    problems = body["rule_errors"]
    for name in ("bad", "odd", "list", "null"):
        assert any(f".braincore/rules/{name}.yml:" in p for p in problems), (name, problems)
    assert not any("good" in p for p in problems) and len(problems) == 4
    assert desk.json("status")["rule_errors"] == problems
    assert "rule not loaded: .braincore/rules/bad.yml:" in desk.run("init").stdout.decode()
    for ref in (
        *("crlf.py::crlf", "bom.py::bom", "latin.py::latin", "utf16.py::wide", "broken.py::g"),
        *("caf\u00e9.py::accented", "a -> b.py::arrow"),
    ):
        assert desk.json("related", ref)["ref"] == ref
    assert "secret" in desk.error("related", "secret.py::secret")

    def check(name: str, content: bytes, code: int = 0) -> list[Any]:
        found = desk.json("check", "--file", name, "--content", "-", stdin=content, code=code)
        return list(found["findings"])

    for name in ("crlf.py", "bom.py", "latin.py", "utf16.py", "broken.py", "binary.py", "nul.py"):
        data = (desk.root / name).read_bytes()
        assert check(name, data) == [], name
    bad = "\ndef late(text):\n    return eval(text)\n"
    for name in ("crlf.py", "bom.py", "latin.py", "broken.py"):
        data = (desk.root / name).read_bytes() + bad.encode()
        assert [f["rule"] for f in check(name, data, 2)] == ["eval-non-literal"], name
    wide = (desk.root / "utf16.py").read_bytes() + bad.encode("utf-16")[2:]
    assert check("utf16.py", wide, 2)
    check("huge.py", b"x = 1\n")
    assert "outside the repository" in desk.error("check", "--file", "../x.py", "--content", "-")


def test_store_that_cannot_be_written(brain: Any) -> None:
    record = brain.remember(*FACT)
    brain.run("stop")
    # Modes don't bind root, so a file stands where a folder must be.
    objects = brain.store / "journal.git" / "objects"
    objects.rename(brain.folder / "objects")
    objects.write_text("")
    said = brain.error("remember", "This can not be kept")
    assert str(brain.store) in said and "Traceback" not in said
    objects.unlink()
    (brain.folder / "objects").rename(objects)
    assert ids(brain.json(*ASK)) == [record]


def test_full_disk(brain: Any) -> None:
    record = brain.remember(*FACT)
    for size in (0, 64, 100_000):
        brain.run("stop")
        process = subprocess.Popen(
            [sys.executable, "-m", "braincore.cli.main", "status"],
            cwd=brain.root,
            env=brain.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda n=size: resource.setrlimit(resource.RLIMIT_FSIZE, (n, n)),
        )
        _, stderr = process.communicate(timeout=60)
        assert b"Traceback" not in stderr
        assert process.returncode == (1 if size < 100 else 0), stderr
        assert process.returncode == 0 or b"free space" in stderr, stderr
    noise = " ".join(hashlib.sha256(b"%d" % n).hexdigest()[:9] for n in range(6000))
    written = {record}
    for part in range(6):
        text = f"Batch {part} was {noise[part * 10_000 : part * 10_000 + 9_900]}"
        done = brain.run("remember", text, "--json", code=None)
        if done.returncode == 0:
            written.add(json.loads(done.stdout)["id"])
        else:
            assert b"nothing acknowledged was lost" in done.stdout, done
    brain.run("stop")
    assert ids(brain.json(*ASK)) == [record]
    assert written <= brain.logged()
    assert brain.json("rebuild")["equal"] is True


def test_bare_environments(brain: Any) -> None:
    record = brain.remember("Das Büro schließt um 18 Uhr – täglich 血", "büro_zeit")
    ask = ("recall", "wann schließt das Büro?", "--target", "büro_zeit")
    poor = {"PATH": brain.env["PATH"]}
    ascii_only = poor | {"PYTHONIOENCODING": "ascii"}
    for env in (
        poor,
        poor | {"LANG": "C", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        ascii_only,
        poor | {"HOME": "/no/such/home", "LC_ALL": "tr_TR.UTF-8"},
    ):
        assert record.encode() in brain.run(*ask, env=env).stdout
        if "LANG" in env or env == poor:
            brain.run("stop")
        assert ids(brain.json(*ask, env=env | {"XDG_RUNTIME_DIR": str(brain.run_dir)})) == [record]
    assert b"abstain" in brain.run("why", "血", env=ascii_only).stdout
    assert b"\\u8840" in brain.run("related", "血", env=ascii_only, code=1).stderr
    assert brain.json("remember", b"caf\xe9 opens at nine")["outcome"] == "stored"


def test_streams_that_are_closed(brain: Any) -> None:
    command = f"'{sys.executable}' -m braincore.cli.main"
    for words in (
        "log -n 100 | head -n 1",
        "log --json | true",
        "status >&-",
        "status 2>&-",
        "status <&-",
        "status >&- 2>&- <&-",
        "nonsense 2>&-",
        "nonsense >&- 2>&-",
    ):
        done = subprocess.run(
            ["sh", "-c", f"{command} {words}"], cwd=brain.root, env=brain.env, capture_output=True
        )
        assert b"Traceback" not in done.stderr and b"Exception" not in done.stderr, (words, done)
        assert done.returncode == (1 if "nonsense" in words else 0), (words, done)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "braincore.cli.main", "status"],
            cwd=brain.root,
            env=brain.env,
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 1 and b"Traceback" not in done.stderr, done.stderr
    assert json.loads(brain.run("status", "--json").stdout)["problem"] == ""
