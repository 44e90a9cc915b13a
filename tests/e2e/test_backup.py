"""Memory is neither lost nor published: a backup restores it, and no way of making memory/ anew
leaves it open to `git add`."""

import shutil
from typing import Any


def test_backup_and_restore_as_documented(brain: Any) -> None:
    record = brain.remember("Staging listens on port 8443", "staging_port")
    backup = brain.folder / "journal.git"
    journal = brain.store / "journal.git"
    brain.git("clone", "-q", "--mirror", str(journal), str(backup))
    later = brain.remember("Lunch is at noon", "lunch")
    brain.git("-C", str(backup), "fetch", "-q")
    assert brain.logged() >= {record, later}
    brain.run("stop")
    shutil.rmtree(brain.store)
    shutil.rmtree(brain.root / ".braincore")
    brain.git("clone", "-q", "--mirror", str(backup), str(journal))
    brain.run("init")
    assert brain.logged() >= {record, later}
    (fact,) = brain.json("recall", "On which port does staging listen?")["facts"]
    assert fact["id"] == record and brain.json("rebuild")["equal"]
    assert brain.kept(record, later) >= {record, later}


def open_to_git(brain: Any, root: Any) -> list[str]:
    """What of .braincore git would add, but for the team's files."""
    told = brain.git("status", "--short", "-uall", cwd=root).splitlines()
    names = [line.split()[-1] for line in told]
    team = (".braincore/.gitignore", ".braincore/config.toml")
    return [n for n in names if n.startswith(".braincore/") and n not in team]


def test_git_would_never_add_a_record(brain: Any) -> None:
    record = brain.remember("The vault opens at noon", "vault")
    brain.kept(record)
    assert open_to_git(brain, brain.root) == []
    brain.git("clean", "-fdxq")
    brain.run("status")
    brain.kept(record)
    assert open_to_git(brain, brain.root) == []
    tree = brain.folder / "tree"  # of a commit that has no .braincore
    brain.git("worktree", "add", "-q", str(tree))
    brain.run("status", "-C", str(tree))
    brain.kept(record, root=tree)
    assert open_to_git(brain, tree) == []
    brain.run("stop")
    shutil.rmtree(brain.root / ".braincore")
    brain.run("rebuild")
    brain.kept(record)
    assert open_to_git(brain, brain.root) == []
