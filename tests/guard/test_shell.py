"""shell_edits against what the shell really does, and against what only the shell can know."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braincore.guard.shell import argv_edits, shell_edits
from braincore.guard.tools import ToolEdits
from braincore.model.edits import Edit

FILES = {
    "a.py": "import os\nx = 1\ny = 2\nprint(x)\n",
    "b.txt": "one\ntwo\nthree",
    "src/m.py": "def f():\n    return 1\n",
    "empty": "",
    "odd name.py": "x = 1\n",
    "café.py": "é = 1\n",
    "crlf.py": "a = 1\r\nb = 2\r\n",
    "fix.patch": "--- a/a.py\n+++ b/a.py\n@@ -1,4 +1,4 @@\n import os\n-x = 1\n+x = 3\n y = 2\n"
    " print(x)\n",
    "special.txt": "a.b*c [x] ^y$ (p|q) {2} +? \\ & /\naab abab\n",
}
DIFF = "--- a/a.py\n+++ b/a.py\n@@ -2 +2 @@\n-x = 1\n+x = 9\n"
GIT_DIFF = (
    "diff --git a/src/m.py b/src/m.py\n--- a/src/m.py\n+++ b/src/m.py\n"
    "@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n"
)

PLAIN = [
    "cat > n.py <<'EOF'\nx = $HOME\n\n  it's `date` \"q\" \\n\nEOF\n",
    "cat <<'EOF' > n.py\nx = 1\nEOF\necho done",
    'cat > n.py <<EOF\na \\$HOME \\\\ \\`x\\` "q" it\'s\nEOF',
    "cat > n.py <<\\EOF\n$x\nEOF",
    'cat > n.py <<"E O F"\na\nE O F\n',
    "cat > n.py <<-EOF\n\tif x:\n\t\ty\n\tEOF\n",
    "cat > n.py <<'EOF'\nEOF\nls",
    "cat > n.py <<'EOF'\n\n\nx\n\nEOF\n",
    "cat > n.py <<'EOF'\na <<'X'\nX\nEOF\n",
    "cat > n.py <<A; cat > o.py <<B\na\nA\nb\nB\n",
    "cat <<A <<B > n.py\na\nA\nb\nB\n",
    "cat >> a.py <<'EOF'\nz = 3\nEOF\n",
    "cat <<'EOF' | tee n.py >/dev/null\nx\nEOF\n",
    "tee n.py o.py <<'EOF'\nx\nEOF\n",
    "tee -a b.txt <<< four",
    "cat - b.txt <<< zero > n.txt",
    "(cat > n.py <<'EOF'\na\nEOF\n)\ncat > o.py <<'EOF'\nb\nEOF\n",
    "if true; then\ncat > n.py <<'EOF'\na\nEOF\nfi\n",
    "if false; then rm a.py; elif true; then rm b.txt; else rm src/m.py; fi",
    "cd src && cat > n.py <<'EOF'\na\nEOF\n",
    "(cd src && echo 1 > n.py); echo 2 > n.py",
    "cd src; echo 1 > ../n.py; cd ..; echo 2 > o.py",
    "cd src && pushd .. > /dev/null && echo 1 > n.py; popd > /dev/null; echo 2 > o.py",
    "echo 'a b'  c > n.txt",
    "echo -n x > n.txt; echo -e 'a\\tb\\nc\\\\' >> n.txt; echo -E '\\n' >> n.txt",
    "echo -e 'a\\0101\\x41\\cb' > n.txt",
    "echo a\\ b > odd\\ name.py",
    "echo \"q\\\"q\" 'it'\\''s' > n.txt",
    "echo $'tab\\there\\n' > n.txt",
    "printf 'x = 1\\n' > n.py",
    "printf '%s\\n' a 'b c' > n.txt",
    "printf '%s=%d;%5s|%-4s|%%\\n' k 3 ab cd > n.txt",
    "printf -- '-x\\n' > n.txt; printf '%b' 'a\\nb\\n' >> n.txt",
    "printf 'no end' > n.txt",
    "echo x >| a.py",
    "echo x &> n.txt",
    "echo x > n.txt 2>&1",
    "echo x >&2 > n.txt",
    "echo x > n.txt > o.txt",
    "> a.py",
    ": > a.py; true > b.txt",
    "cat a.py > a.py",
    "cat b.txt a.py > n.txt",
    "cat < b.txt > n.txt",
    'x=$(cat b.txt); echo "$x" > n.txt',
    'X=src; echo 1 > $X/n.py; echo 2 > "${X}/o.py"',
    "A=a; A+=b; echo $A > $A.txt",
    "F='a.py b.txt'; rm $F",
    "for f in a.py src/m.py; do sed -i 's/1/2/' \"$f\"; done",
    "for f in $(echo a.py b.txt); do echo end >> $f; done",
    "f() { echo in > n.txt; }; f",
    "function g { rm a.py; }\ng",
    "f() { rm a.py; }; echo f",
    'echo $PWD/x | grep -q / && echo "$(pwd)" > /dev/null; echo y > $PWD/n.txt',
    "{ echo a; cat b.txt; echo; } > n.txt",
    "{ echo a; rm n.txt; } > n.txt",
    "{ cat; echo end; } < b.txt > n.txt",
    "(echo a; echo b) | sed 's/a/x/' >> b.txt",
    "true && echo a > n.txt || echo b > n.txt",
    "false && echo a > n.txt || echo b > o.txt",
    "false || true && echo a > n.txt; ! true || echo b > o.txt",
    "echo a > n.txt & wait",
    "bash -c 'echo x > n.txt'",
    "bash -c \"cat > n.txt <<'E'\n\\$x\nE\n\"",
    "bash <<'EOF'\necho x > n.txt\nEOF\n",
    "echo 'echo y > n.txt' | bash",
    "sh -ec 'cd src; rm m.py'",
    "eval 'echo x > n.txt'",
    "FOO=1 env BAR=2 bash -c 'echo x > n.txt'",
    "command echo x > n.txt; nohup rm b.txt 2>/dev/null",
    "timeout 5 rm a.py",
    "echo a.py | xargs rm",
    "printf 'a.py\\nsrc/m.py\\n' | xargs sed -i 's/1/7/'",
    "mv a.py src/z.py",
    "mv a.py src/",
    "mv a.py src",
    "mv a.py b.txt src/",
    "mv b.txt a.py",
    "cp a.py n.py",
    "cp a.py ./src/.",
    "cp -r a.py n.py && rm -f a.py",
    "cp a.py n.py && sed -i 's/x/q/g' n.py && mv n.py a.py",
    "rm a.py b.txt",
    "rm -f nothing.py; rm -- a.py",
    "touch n.py a.py",
    "cp a.py keep; sed -i s/x/z/ keep; mv keep a.py; cp a.py keep; cat keep > n.txt; rm keep",
    "head -n 2 a.py > n.txt; tail -n 1 a.py >> n.txt; tail -n +2 a.py >> n.txt",
    "head -n -1 a.py > n && mv n a.py; head -1 b.txt > o.txt; tail -2 b.txt >> o.txt",
    "cat \"odd name.py\" > 'n m.py'",
    "cat café.py > naïve.py",
    "echo a > n.txt # echo b > o.txt",
    "echo a#b > n.txt",
    "echo \\\n  a > n.txt",
    "echo a |\n cat > n.txt",
    "true &&\n echo a > n.txt",
    "while false; do rm a.py; done; echo $((1 << 2)) > /dev/null",
    "((1 > 0)) && echo a > n.txt",
    "[[ a == a ]] && echo 1 > n.txt\n[[ a < b ]] && echo 2 > o.txt",
    "echo `echo inner` > n.txt",
    'echo "a $(echo "b $(echo c)")" > n.txt',
    "cat > /dev/null <<'EOF'\nx\nEOF\n",
    "echo '*' > n.txt; echo \"~/x {a,b}\" >> n.txt",
    "echo \"cat > f\"; echo 'rm a.py'; grep -q 'sed -i' a.py; echo sed -i s/1/2/ a.py",
    "cat <<'EOF'\nrm a.py\nEOF\n",
    "git apply fix.patch",
    "git apply <<'EOF'\n"
    + DIFF.replace("@@ -2 +2 @@\n", "@@ -1,3 +1,3 @@\n import os\n").replace(
        "+x = 9\n", "+x = 9\n y = 2\n"
    )
    + "EOF\n",
    "patch -p1 <<'EOF' > /dev/null\n" + DIFF + "EOF\n",
    "patch -p0 < fix.patch > /dev/null; patch -s a.py fix.patch",
    "patch -s -p1 -i fix.patch && patch -s -R -p1 < fix.patch && echo z >> a.py",
    "cat fix.patch | patch -s -p1",
    "cd src && patch -s m.py <<'EOF'\n" + GIT_DIFF + "EOF\n",
    "cat <<'EOF' | git apply - && echo k > n.txt\n" + GIT_DIFF + "EOF\n",
    "cat > p.diff <<'EOF'\n" + GIT_DIFF + "EOF\ngit apply p.diff && rm p.diff",
    "git -C src apply - <<'EOF'\n" + GIT_DIFF + "EOF\n",
    "cd src && git apply <<'EOF'\n--- a/m.py\n+++ b/m.py\n@@ -1,2 +1,2 @@\n def f():\n"
    "-    return 1\n+    return 2\nEOF\n",
    "git apply --directory=src <<'EOF'\n" + GIT_DIFF.replace("/src/", "/") + "EOF\n",
    "git apply -p2 --directory src <<'EOF'\n" + GIT_DIFF + "EOF\n",
    "git apply -R fix.patch; git apply --check fix.patch; git apply fix.patch",
    "git apply fix.patch && git apply -R fix.patch && echo z >> a.py",
    "git mv a.py z.py; git rm --cached b.txt; git -c a.b=c rm -q -f src/m.py",
    "until true; do rm a.py; done",
]

SED = [
    "sed -i 's/x/z/' a.py",
    "sed -i s/1/2/ a.py src/m.py",
    "sed -i 's/t/T/g;s/e/E/2' b.txt",
    "sed -i -e 's/one/1/' -e 's/two/2/' b.txt",
    "sed -i 's/a/b/2g' special.txt",
    "sed -i.bak 's/x/z/' a.py",
    "sed --in-place=.orig --expression='s/x/z/' a.py",
    "sed -i -E 's/(o)(n)/\\2\\1/; s/t(w|h)+/<&>/' b.txt",
    "sed -i 's/\\(a\\)\\(b\\)\\?/[\\2\\1]/g' special.txt",
    "sed -i 's|/|S|; s#a\\.b#&&#' special.txt",
    "sed -i 's/\\*c/STAR/; s/\\[x\\]/BR/; s/\\^y\\$/AN/' special.txt",
    "sed -i 's/(p|q)/P/; s/{2}/R/; s/+?/Q/' special.txt",
    "sed -i -E 's/\\*c/STAR/; s/\\[x\\]/BR/; s/\\^y\\$/AN/' special.txt",
    "sed -i -E 's/\\(p\\|q\\)/P/; s/\\{2\\}/R/' special.txt",
    "sed -i 's/[^a-z ]/_/g' special.txt",
    "sed -i 's/[]\\[&]/_/g; s/[[:space:]]\\+/ /g; s/[/]/D/' special.txt",
    "sed -i -E 's/a{2}b/AAB/; s/(ab){2,}/ABAB/; s/a|aa/L/' special.txt",
    "sed -i 's/a\\|ab/L/g' special.txt",
    "sed -i 's/x*/-/g' a.py",
    "sed -i 's/^/# /; s/$/;/' a.py",
    "sed -i 's/\\bx\\b/z/g; s/\\<y/w/; s/t\\>/T/' a.py",
    "sed -i 's/X/z/I; s/PRINT/p/i' a.py",
    "sed -i 's/x/a\\nb/; s/y/a\\tb/; s/p/\\//' a.py",
    "sed -i 's/x/a\\\nb/' a.py",
    "sed -i 's/é/e/; s/./X/' café.py",
    "sed -i '2s/x/z/; $s/x/w/' a.py",
    "sed -i '2d' a.py; sed -i '$d' b.txt",
    "sed -i '/x = /d' a.py",
    "sed -i '/^print/!d' a.py",
    "sed -i '2,3d' a.py",
    "sed -i '2,+1d' a.py",
    "sed -i '/x/,/y/s/ = /=/' a.py",
    "sed -i '/y/,$d; 0,/o/s/o/0/' a.py",
    "sed -i '1~2d' a.py",
    "sed -i '2,1d; 3,/nothing/d' a.py",
    "sed -i -n '2p' a.py; sed -ni '/t/p' b.txt",
    "sed -i 2q a.py",
    "sed -i '1i # head' a.py; sed -i '$a # tail' b.txt",
    "sed -i '2a\\    indented\\tq' a.py",
    "sed -i '/x = 1/i\\\nfirst\\\nsecond' a.py",
    "sed -i -e '1a\\' -e '  two' a.py",
    "sed -i '/x/,/z/c y' a.py; sed -i '2,$c y' b.txt",
    "sed -i '1~2d;2,3d' a.py; sed -i '0,/o/d;0,/o/p' b.txt",
    "sed -i '2c y\n2,+1a q' a.py; sed -i '3,1c y\n2,3s/t/T/' b.txt",
    "sed -i '2,3c\\gone' a.py; sed -i '1c new' b.txt",
    "sed -i '/x/{s/x/q/;s/1/5/}' a.py",
    "sed -i '/x/ { s/x/q/\n n\n }' empty",
    "sed -i 'y/xy/XY/' a.py",
    "sed -i '\\,x = ,d' a.py",
    "sed -i '/X = /Id # gone' a.py",
    "sed 's/x/z/' a.py > n.py",
    "sed -n '1,2p' a.py > n.py && mv n.py a.py",
    "cat a.py | sed -e 's/x/z/' | tee n.py > /dev/null",
    "echo 's/x/z/' > s.sed; sed -i -f s.sed a.py",
    "sed -i 's/=/:/g' crlf.py",
    "sed -i 's/x/z/;;p' a.py",
    'X=y; sed -i "s/$X = 2/Z/" a.py',
    "sed -i 's/$/!/' empty",
    "sed -i 's/nothing/x/' a.py && echo done",
]

PERL = [
    "perl -pi -e 's/x/z/' a.py",
    "perl -pi -e 's/x/z/g; s/\\bprint\\((\\w+)\\)/log($1, \"$1\")/' a.py",
    "perl -i.bak -pe 's{import (\\w+)}{import ${1} as $1}' a.py",
    "perl -p -i -e 's|x = \\d+|x = 5|' a.py src/m.py",
    "perl -pi -e 's/\\s*$/;\\n/' a.py",
    "perl -pi -e 's/^/# /; s/$/ !/' a.py",
    "perl -0777 -pi -e 's/x = 1\\ny = 2/z = 3/' a.py",
    "perl -0pi -e 's/^(\\w) = .*$/$1 = 0/mg' a.py",
    "perl -pe 's/X/z/i' a.py > n.py",
    "perl -pi -e 's/t(?:w|h)/<$&>/; s#e#\\@#g' b.txt",
]


def ours(command: str, files: Mapping[str, str] = FILES) -> ToolEdits:
    return shell_edits(command, root="/repo", cwd="/repo", read=files.get)


def after(result: ToolEdits, files: Mapping[str, str] = FILES) -> dict[str, str]:
    left = dict(files)
    for edit in result.edits:
        assert edit.before == left.get(edit.path)
        if edit.after is None:
            del left[edit.path]
        else:
            left[edit.path] = edit.after
    return left


def really(command: str, folder: Path, files: Mapping[str, str] = FILES) -> dict[str, str]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    environment |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    if "git " in command:
        subprocess.run(["git", "init", "-q"], cwd=folder, env=environment, check=True)
        subprocess.run(["git", "add", "."], cwd=folder, env=environment, check=True)
    subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, timeout=60
    )
    return {
        str(path.relative_to(folder)): path.read_bytes().decode()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


# Where GNU's sed and BSD's differ, GNU's is followed; perl is not on every other system.
ORACLE = PLAIN + (SED + PERL if sys.platform == "linux" else [])


@pytest.mark.parametrize("command", ORACLE)
def test_does_what_the_shell_does(command: str, tmp_path: Path) -> None:
    result = ours(command)
    assert after(result) == really(command, tmp_path)
    assert not result.outside


ENVELOPE = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch\n"


@pytest.mark.parametrize(
    "command",
    [
        f"apply_patch <<'EOF'\n{ENVELOPE}EOF\n",
        f"apply_patch \"$(cat <<'EOF'\n{ENVELOPE}EOF\n)\"",
        f"cat <<'EOF' | apply_patch\n{ENVELOPE}EOF\n",
        f"cd src && cd .. && /usr/bin/applypatch <<'EOF'\n{ENVELOPE}EOF\n",
        f"apply_patch '{ENVELOPE}'",
        "sed -i '' 's/x = 1/x = 2/' a.py",
        "find . -name '*.pyc' -print | sort; sed -i s/x.=.1/x\\ =\\ 2/ ./src/../a.py",
        "cat > /tmp/p.diff <<'EOF'\n" + DIFF.replace("9", "2") + "EOF\npatch -p1 < /tmp/p.diff",
    ],
)
def test_one_change(command: str) -> None:
    result = ours(command)
    text = FILES["a.py"]
    assert result.edits == (Edit("a.py", text, text.replace("x = 1", "x = 2")),)
    assert result.unknown == ()


@pytest.mark.parametrize(
    "command",
    [
        "",
        "   \n# cat > f\n",
        'echo "cat > f"',
        "grep 'sed -i s/a/b/' a.py",
        'git commit -m "rm -rf / > a.py"',
        "echo 'apply_patch <<EOF'",
        'python -c \'open("a.py", "w")\'',
        "python3 - <<'EOF'\nopen('a.py', 'w')\nEOF\n",
        "ls -la | grep x | wc -l",
        "cat a.py; head -5 b.txt; sed -n '1,2p' a.py; git status",
        "pytest -q 2>&1 | tail -5",
        "pytest 2> errors.txt > /dev/null",
        "cp missing.py a.py",
        "sed -i s/a/b/ missing.py",
        "bash script.sh; source env.sh; . ./x",
        "f() { rm a.py; }",
        "rm -f missing.py",
        "ssh host 'rm a.py'",
        "cat a.py | while read line; do echo $line; done",
        "find . -name '*.py' -exec grep x {} +; ls | xargs grep y",
        "curl https://example.org | jq .",
        "sed 's/\\(x\\)\\1/y/' a.py",
    ],
)
def test_what_is_only_mentioned_is_not_done(command: str) -> None:
    assert ours(command) == ToolEdits()


@pytest.mark.parametrize(
    ("command", "about"),
    [
        ("echo x > $OUT", "$OUT"),
        ("echo x > ${OUT%.py}.txt", "${OUT%.py}.txt"),
        ("cat > $(mktemp) <<'EOF'\nx\nEOF\n", "$(mktemp)"),
        ("rm *.py", "*.py"),
        ("sed -i s/a/b/ src/*.py", "src/*.py"),
        ("rm {a,b}.py", "{a,b}.py"),
        ("echo x > ~/f", "~/f"),
        ("cd $DIR && echo x > f", "f: the folder"),
        ("cd - && echo x > f", "f: the folder"),
        ("date > f", "f: what is written"),
        ("sort a.py | tee f", "f: what `tee`"),
        ("sed -i 's/\\(x\\)\\1/y/' a.py", "the escape"),
        ("sed -i 'N;s/a/b/' a.py", "sed's command N"),
        ('sed -i "s/$A/b/" a.py', "expansion"),
        ("sed -i 's/x/\\U&/' a.py", "\\U in a replacement"),
        ("sed -i 's/x/y' a.py", "closing"),
        ("sed -i -z 's/x/y/' a.py", "-z"),
        ("perl -pi -e 's/(?<=x)y/z/' a.py", "expression"),
        ("perl -pi -e 's/x/$ENV{X}/' a.py", "variable"),
        ("perl -ni -e 'print if /x/' a.py", "perl"),
        ("rg -l x | xargs sed -i s/x/y/", "xargs"),
        ("find . -name '*.py' -exec sed -i s/x/y/ {} +", "{}"),
        ("find . -name '*.py' -delete", "find"),
        ("rm -rf build", "build"),
        ("mv src lib", "src"),
        ("git apply missing.patch", "git apply"),
        ("curl x | git apply", "git apply"),
        ("git apply <<'EOF'\nnot a diff\nEOF\n", "names no file"),
        ("apply_patch <<'EOF'\nhello\nEOF\n", "Begin Patch"),
        ("curl -o a.py https://example.org", "a.py"),
        ("echo 'unclosed > f", "can't be parsed"),
        ("( " * 100, "nested too deeply"),
        ("$(" * 2000, "nested too deeply"),
        ("bash -c 'bash -c \"$(" * 30, "can't be parsed"),
        ("if x; then echo 1 > f; else echo 2 > f; fi", "depends on a condition"),
        ("x" * 1_000_001, "too long"),
        ("echo x > ''", "a path is empty"),
    ],
)
def test_what_is_not_known_is_said(command: str, about: str) -> None:
    result = ours(command)
    assert any(about in reason for reason in result.unknown), result.unknown
    assert all(edit.path not in ("a.py", "src/m.py") for edit in result.edits)


def test_content_with_an_unknown_expansion_is_kept_as_written() -> None:
    result = ours('cat > n.py <<EOF\nx = "$NAME"\nEOF\necho "y = $OTHER" >> n.py')
    assert result.edits == (Edit("n.py", None, 'x = "$NAME"\ny = $OTHER\n'),)


def test_branches_start_from_the_same_state_and_both_count() -> None:
    result = ours(
        "if probe; then sed -i s/x/q/ a.py; else rm b.txt; fi; case $X in a) rm empty;; esac"
    )
    assert {edit.path for edit in result.edits} == {"a.py", "b.txt", "empty"}


def test_what_is_known_of_a_file_stays_judged() -> None:
    result = ours("echo bad > n.py; date >> n.py")
    assert result.edits == (Edit("n.py", None, "bad\n"),)
    assert result.unknown


def test_files_outside_the_repository_are_listed_and_followed() -> None:
    result = ours(
        "echo 1 > /tmp/x; cp /tmp/x n.py; cat /tmp/x > ../other/y; rm /tmp/x; sed -i d /etc/hosts"
    )
    assert result.edits == (Edit("n.py", None, "1\n"),)
    assert result.outside == ("/tmp/x", "/other/y")


def test_undone_in_the_end_is_no_edit() -> None:
    assert ours("cp a.py k.py; echo 1 > a.py; mv k.py a.py") == ToolEdits()


def test_the_working_folder_is_where_paths_begin() -> None:
    read = {"src/m.py": "x\n"}.get
    result = shell_edits(
        "sed -i s/x/y/ m.py; rm ../gone", root="/repo/", cwd="/repo/src", read=read
    )
    assert result.edits == (Edit("src/m.py", "x\n", "y\n"),)


def test_a_command_as_a_list_of_words() -> None:
    def run(*argv: str) -> ToolEdits:
        return argv_edits(argv, root="/repo", cwd="/repo", read=FILES.get)

    assert run("bash", "-lc", "echo $X > 'n m'").edits == (Edit("n m", None, "$X\n"),)
    assert [edit.path for edit in run("apply_patch", ENVELOPE).edits] == ["a.py"]
    assert run("sed", "-i", "s/x = 1/x/", "a.py").edits
    assert run("echo", "a", ">", "f") == ToolEdits()
    assert run() == ToolEdits()


@pytest.mark.parametrize(
    "command",
    [
        "for i in " + "a " * 3000 + "; do for j in " + "a " * 3000 + "; do :; done; done",
        "X=aaaaaaaaaa; " + "X=$X$X; " * 60 + "echo $X > f",
        "cat a.py a.py > f0; " + "".join(f"cat f{i} f{i} > f{i + 1}; " for i in range(60)),
        "f() { f; f; }; f",
        "sed -i -E 's/(a*)*b|(x+x+)+y/z/' big",
        "while true; do echo x >> f; done",
        "`" * 5001,
        "a=$((" * 3000,
        '"' + "$(echo " * 25,
    ],
)
def test_no_command_holds_the_hook_up(command: str) -> None:
    files = {**FILES, "big": ("x" * 200 + "\n") * 5000}
    began = time.monotonic()
    ours(command, files)
    assert time.monotonic() - began < 5


TOKENS = r"""cat echo sed\t-i s/a/b/ a.py > >> <<EOF EOF ; && || | ( ) { } $( ` ' " \ $X if then
fi for in do done case esac ;; [[ ]] (( )) perl\t-pi\t-e git\tapply rm mv printf %d bash\t-c
cd tee < <( & ! = # * apply_patch xargs ~ ${ $'"""
WORDS = st.sampled_from(
    [*(word.replace("\\t", " ") for word in TOKENS.split()), "\n", "\x00", "\ud800", "\r\n"]
)


@settings(max_examples=500, deadline=None)
@given(st.lists(WORDS, max_size=30).map(" ".join) | st.text(max_size=80))
def test_never_raises(command: str) -> None:
    result = ours(command)
    assert len({edit.path for edit in result.edits}) == len(result.edits)
    assert all(edit.before != edit.after for edit in result.edits)
