"""The owner process: what it leaves on disk, how it begins, leaves, and makes room."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import braincore


def test_files_are_private_and_owner_json_tells(shared: Any) -> None:
    told = json.loads((shared.store / "owner.json").read_text())
    assert told["pid"] == shared.json("status")["pid"]
    assert told["host"] == socket.gethostname() and told["store"] == str(shared.store)
    assert (told["version"], told["protocol"]) == (braincore.__version__, "1")
    assert told["leaving"] is False and abs(time.time() - told["heartbeat"]) < 60
    assert len(told["boot"]) == 36
    path = Path(told["socket"])
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    shared.remember("Modes are private", "file_modes")
    for folder in (shared.store, shared.root / ".braincore" / "memory"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        for found in folder.rglob("*"):
            if not found.is_symlink() and "objects" not in found.parts:
                mode = stat.S_IMODE(found.stat().st_mode)
                assert mode & 0o077 == 0, f"{found}: {mode:o}"


def test_no_secret_of_the_environment_or_the_text_in_the_log(brain: Any) -> None:
    brain.run("stop")
    secret = "hunter2hunter2"
    env = brain.env | {"AWS_SECRET_ACCESS_KEY": secret, "my_token": secret, "CLAUDE_X": secret}
    env |= {"GIT_DIR": "/nowhere"}
    brain.run("status", env=env)
    key = "ghp_" + "a1B2" * 9
    assert key not in brain.run("outcome", f"decision-{key}", "x", code=1).stdout.decode()
    environment = Path(f"/proc/{brain.owner()}/environ").read_bytes()
    assert secret.encode() not in environment and b"GIT_DIR" not in environment
    brain.run("stop")
    text = brain.log_text()
    assert secret not in text and key not in text and "decision-" in text


def test_a_second_owner_is_refused_in_a_sentence(shared: Any) -> None:
    pid = shared.json("status")["pid"]
    wanted = f"Another owner (pid {pid}) already serves {shared.store}"
    assert wanted in shared.error("serve")
    assert wanted in shared.json("serve", code=1)["error"]
    command = [sys.executable, "-I", "-m", "braincore.serve.owner", "--foreground"]
    command += ["--store", str(shared.store), "--root", str(shared.root)]
    done = subprocess.run(command, env=shared.env, capture_output=True, timeout=60, check=False)
    assert done.returncode == 1 and wanted in done.stderr.decode()
    command.remove("--foreground")
    done = subprocess.run(command, env=shared.env, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0  # for a client that starts one: somebody serves, that will do


def test_serve_in_the_foreground_ends_on_a_signal(brain: Any, until: Any, owners: Any) -> None:
    brain.run("stop")
    process = brain.start("serve")
    until(lambda: (brain.store / "socket").exists(), "it serves")
    assert brain.json("status")["pid"] == process.pid
    record = brain.remember("Signals end it in order", "signals")
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 0 and b"Traceback" not in stderr, stderr
    assert not (brain.store / "owner.json").exists() and not list(brain.run_dir.rglob("*.sock"))
    assert record in brain.logged()


def test_stale_and_odd_sockets_and_locks(brain: Any, slay: Any) -> None:
    def well() -> None:
        assert brain.json("status")["problem"] == ""

    slay(brain.folder)
    assert (brain.store / "socket").exists() and (brain.store / "owner.json").exists()
    (brain.store / "owner.json").write_text("{")
    well()
    (sock,) = brain.run_dir.rglob("*.sock")
    brain.run("stop")
    (brain.store / "socket").write_text("/no/where\n")
    told = {"pid": 1, "leaving": False, "store": str(brain.store)}
    (brain.store / "owner.json").write_text(json.dumps(told))
    well()
    brain.run("stop")
    (brain.store / "socket").write_text(f"{sock}\n")
    sock.write_text("not a socket")
    well()
    brain.run("stop")
    assert brain.json("stop") == {"outcome": "not running"}
    sock.mkdir()
    (sock / "x").touch()
    well()  # another place was taken for the socket; nothing of others was removed
    assert (sock / "x").exists()
    brain.run("stop")
    (brain.store / "socket").mkdir()
    assert "socket" in brain.error("status")
    (brain.store / "socket").rmdir()
    well()


def test_private_folder_of_somebody_else_is_not_used(brain: Any) -> None:
    brain.run("stop")
    (brain.run_dir / "braincore").rmdir()
    elsewhere = brain.folder / "elsewhere"
    elsewhere.mkdir()
    (brain.run_dir / "braincore").symlink_to(elsewhere)
    brain.run("status")
    assert list(elsewhere.iterdir()) == []


def test_idle_owner_leaves_and_the_next_request_starts_one(brain: Any, until: Any) -> None:
    brain.write({".braincore/config.toml": "[owner]\nidle_minutes = 0.001\n"})
    first = brain.json("status")["pid"]
    until(lambda: not (brain.store / "owner.json").exists(), "the idle owner leaves")
    assert "idle for 0.001 minutes" in brain.log_text()
    assert brain.json("status")["pid"] != first


def test_stop_and_requests_race_without_loss(brain: Any, finish: Any, trials: Any) -> None:
    ids = []
    for number in range(trials(20)):
        words = [f"Runner {number} sweeps hall {number}", "--target", f"hall_{number}", "--json"]
        writers = [brain.start("remember", f"{n} {words[0]}", *words[1:]) for n in range(3)]
        stop = brain.start("stop", "--json")
        done = finish([*writers, stop])
        assert [code for code, _, _ in done] == [0] * 4, done
        ids += [json.loads(stdout)["id"] for _, stdout, _ in done[:3]]
    assert set(ids) <= brain.logged()


def cut_off(desk: Any, said: bytes, *words: str) -> tuple[int, bytes, bytes]:
    """Run a command whose first owner takes the connection, says this much, and dies."""
    desk.run("stop")
    path = desk.folder / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        (desk.store / "socket").write_text(f"{path}\n")
        client = desk.start(*words)
        connection, _ = listener.accept()
        with connection:
            while b"\r\n\r\n" not in connection.recv(1 << 16):
                pass
            path.unlink()
            connection.sendall(said)
    stdout, stderr = client.communicate(timeout=60)
    return client.returncode, stdout, stderr


def test_request_is_repeated_only_when_it_was_not_taken(brain: Any) -> None:
    code, stdout, _ = cut_off(brain, b"", "remember", "The lift is out of order", "--json")
    assert code == 0 and json.loads(stdout)["id"] in brain.logged()
    taken = b"HTTP/1.1 100 Continue\r\n\r\n"
    code, _, stderr = cut_off(brain, taken, "remember", "The stairs are wet today")
    assert code == 1
    assert b"ended while it worked on this; look with `braincore log`" in stderr


def test_what_the_owner_did_not_foresee_comes_back_as_json(brain: Any) -> None:
    brain.git("worktree", "add", "-q", str(brain.folder / "tree"))
    assert brain.json("status", "-C", str(brain.folder / "tree"))["branch"] == "tree"
    (brain.root / ".git" / "worktrees" / "tree" / "HEAD").write_text("nonsense")
    body = brain.json("status", "-C", str(brain.folder / "tree"), code=1)
    assert "The owner failed at this (GitError" in body["error"] and "log" in body["error"]
    assert "Traceback" in brain.log_text()
    assert brain.json("status")["branch"] == "main"


def test_newer_client_makes_the_owner_drain(brain: Any, until: Any) -> None:
    record = brain.remember("Version one wrote this", "first_version")
    old = brain.owner()
    newer = upgraded(brain.folder, "99.1.0")

    def run(*words: str, python: str = newer, code: int = 0) -> dict[str, Any]:
        command = [python, "-I", "-m", "braincore.cli.main", *words, "--json"]
        done = subprocess.run(command, cwd=brain.root, env=brain.env, capture_output=True)
        assert done.returncode == code, done
        body = json.loads(done.stdout)
        assert isinstance(body, dict)
        return body

    said = run("remember", "Version ninety-nine wrote this", "--target", "second_version")
    status = run("status")
    assert status["version"] == "99.1.0" and status["pid"] == brain.owner() != old
    until(lambda: not Path(f"/proc/{old}").exists(), "the old owner ends")
    # The older client goes on with the newer owner.
    assert brain.json("status")["pid"] == status["pid"]
    assert {record, said["id"]} <= brain.logged()
    assert "a client of version 99.1.0 came" in brain.log_text()


def upgraded(folder: Path, version: str) -> str:
    """The interpreter of an environment with this package at a higher version."""
    source = Path(braincore.__file__).parent
    package = folder / "newer" / "braincore"
    package.mkdir(parents=True)
    for entry in source.iterdir():
        if entry.name != "__init__.py":
            (package / entry.name).symlink_to(entry)
    (package.parent / "rules").symlink_to(source.parent / "rules")
    text = (source / "__init__.py").read_text()
    (package / "__init__.py").write_text(text.replace(braincore.__version__, version))
    home = folder / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    (packages,) = home.glob("lib/python*/site-packages")
    base = [p for p in sys.path if p.endswith("site-packages")]
    (packages / "a.pth").write_text("\n".join([str(package.parent), *base]) + "\n")
    return str(home / "bin" / "python")


def test_owner_files_survive_a_hang(brain: Any) -> None:
    """A frozen owner blocks nobody for ever: hooks pass with a note."""
    brain.run("init", "--client", "claude")
    pid = brain.owner()
    os.kill(pid, signal.SIGSTOP)
    try:
        done = brain.hook(brain.payload("PreToolUse.Edit", file_path=str(brain.root / "app.py")))
        note = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
        assert "owner did not answer in time" in note
    finally:
        os.kill(pid, signal.SIGCONT)
    assert brain.json("status")["pid"] == pid
