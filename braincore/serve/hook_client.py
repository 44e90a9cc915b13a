"""Hand one hook event to the owner and its answer back: `python -S -E -I hook_client.py CLIENT`.

The edit path imports nothing: only builtin C modules, nothing of braincore, because this process
starts for every edit. It reads the event from stdin, finds the store from the working directory,
sends one request and prints the answer; exit code and stderr come from response headers.
Installed hooks import this file by its folder instead of running it (`settings.hook_command`):
compiling it anew for each edit would cost more than all it does.

Without an owner it starts one and waits up to COLD seconds for it; a warm owner has WARM. The
started process must exit 0 when another owner already holds the store: that is what we wanted,
so we go on waiting. Any other early exit means no owner can start, and we stop waiting at once.
A late, dead or unreadable owner lets the edit through with a note, or refuses it when the store
holds a file `fail_closed`.
"""

import sys
import time

try:
    import _socket
    import posix
except ImportError:
    sys.stderr.write("braincore: not checked (hooks need a POSIX system); the edit goes through\n")
    sys.exit(0)

VERSION = "0.1.0"
PROTOCOL = b"1"
WARM = 0.3
COLD = 3.0
POLL = 0.02
AGAIN = 0.5
LIMIT = 32 * 1024 * 1024
BEFORE_EDIT = (b"PreToolUse", b"preToolUse", b"BeforeTool")
UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"
# The owner outlives this session: it inherits neither the client's secrets nor a git hook's view.
PRIVATE = (b"TOKEN", b"SECRET", b"PASSWORD", b"API_KEY")
FOREIGN = (b"GIT_", b"CLAUDE")

Place = tuple[bytes, bytes]
Answer = tuple[bytes, bytes]


def read_input() -> bytes:
    """Stdin to its end, or its first LIMIT + 1 bytes or a little more."""
    parts = []
    size = 0
    while size <= LIMIT:
        part = posix.read(0, 1 << 20)
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def write(fd: int, data: bytes) -> None:
    """All of `data`, unless the reader has gone."""
    try:
        while data:
            data = data[posix.write(fd, data) :]
    except OSError:
        return


def read_line(path: bytes) -> bytes:
    """The first line of a small file; empty when there is none to read."""
    try:
        fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return posix.read(fd, 65536).partition(b"\n")[0].rstrip(b"\r")
    except OSError:
        return b""
    finally:
        posix.close(fd)


def exists(path: bytes) -> bool:
    """Whether something is at `path`."""
    try:
        posix.stat(path)
    except OSError:
        return False
    return True


def join(folder: bytes, path: bytes) -> bytes:
    """`path` as seen from `folder`."""
    return path if path[:1] == b"/" else folder + b"/" + path


def find_store(folder: bytes) -> Place | None:
    """The nearest store at or above `folder`, and the folder whose `.git` leads to it.

    A `.git` file leads on to a worktree's common directory or a submodule's own. A repository
    without a store is passed over: a submodule belongs to the superproject's brain.
    """
    while folder:
        folder = folder.rstrip(b"/")
        git = folder + b"/.git"
        label, _, target = read_line(git).partition(b"gitdir:")
        target = target.lstrip(b" ")
        if target and not label:
            git = join(folder, target)
            git = join(git, read_line(git + b"/commondir"))
        store = git.rstrip(b"/") + b"/braincore"
        if exists(store + b"/."):
            return store, folder or b"/"
        folder = folder.rpartition(b"/")[0] or folder[:1]
    return None


def quote(data: bytes) -> bytes:
    """Percent-encoded, slashes kept."""
    return b"".join([b"%c" % c if c in UNRESERVED else b"%%%02X" % c for c in data])


def unquote(data: bytes) -> bytes:
    """Percent-decoded. ValueError when it isn't percent-encoded."""
    first, *rest = data.split(b"%")
    return first + b"".join([bytes.fromhex(part[:2].decode()) + part[2:] for part in rest])


def left(deadline: float) -> float:
    """The seconds left. TimeoutError when none are."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def ask(store: bytes, request: bytes, deadline: float) -> Answer | None:
    """The owner's answer as head and body; None when no owner serves this store.

    OSError when it can't be reached, TimeoutError when late, ValueError when unreadable.
    """
    address = read_line(store + b"/socket")
    if not address:
        return None
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(left(deadline))
        try:
            connection.connect(address)
        except (ConnectionRefusedError, FileNotFoundError):
            return None
        try:  # noqa: SIM105 - contextlib would be an import
            connection.sendall(request)
        except (BrokenPipeError, ConnectionResetError):
            pass  # an owner that turns a request away needn't read all of it first
        parts = []
        size = 0
        while size <= LIMIT:
            connection.settimeout(left(deadline))
            try:
                part = connection.recv(1 << 16)
            except ConnectionResetError:
                break
            if not part:
                break
            parts.append(part)
            size += len(part)
    finally:
        connection.close()
    if not parts:
        return None  # it left before it answered; to ask the next one does no harm
    head, found, body = b"".join(parts).partition(b"\r\n\r\n")
    if not found or head[:7] != b"HTTP/1.":
        raise ValueError
    status = head[9:12]
    if status in (b"421", b"426", b"503"):
        return None
    if status != b"200":
        raise OSError("owner answered " + str(int(status)))
    return head, body


def start_owner(place: Place) -> int:
    """Start an owner that outlives this process; its process id."""
    store, root = place
    python = sys.executable
    arguments: list[bytes | str] = [
        python,
        "-I",
        "-m",
        "braincore.serve.owner",
        "--store",
        store,
        "--root",
        root,
    ]
    environment = {
        name: value
        for name, value in posix.environ.items()
        if not name.startswith(FOREIGN) and not any(word in name for word in PRIVATE)
    }
    actions = [
        (posix.POSIX_SPAWN_OPEN, 0, "/dev/null", posix.O_RDWR, 0),
        (posix.POSIX_SPAWN_DUP2, 0, 1),
        (posix.POSIX_SPAWN_DUP2, 0, 2),
    ]
    # A pipe of the client's left open in the owner would keep the client waiting for its end.
    posix.closerange(3, 1024)
    try:
        return posix.posix_spawn(python, arguments, environment, file_actions=actions, setsid=True)
    except NotImplementedError:
        return posix.posix_spawn(python, arguments, environment, file_actions=actions, setpgroup=0)


def exit_status(child: int) -> int | None:
    """The wait status of an ended child; None while it runs."""
    try:
        ended, status = posix.waitpid(child, posix.WNOHANG)
    except ChildProcessError:
        return 0  # SIGCHLD is ignored here, so nobody knows how it ended
    return status if ended else None


def start_and_ask(place: Place, request: bytes) -> Answer:
    """The answer of an owner started now, within COLD seconds. Raises as `ask` does."""
    if posix.environ.get(b"BRAINCORE_NO_SPAWN") == b"1":
        raise OSError("no owner is running")
    deadline = time.monotonic() + COLD
    owner = start_owner(place)
    again = 0.0
    while True:
        answer = ask(place[0], request, deadline)
        if answer is not None:
            return answer
        if owner and (status := exit_status(owner)) is not None:
            if status:
                raise OSError("no owner could be started")
            owner = 0
            again = time.monotonic() + AGAIN
        if not owner and time.monotonic() > again:
            owner = start_owner(place)  # the one that held the store has left meanwhile
        time.sleep(min(POLL, left(deadline)))


def deliver(answer: Answer) -> int:
    """Print what the owner answered; the exit code it wants. ValueError when unreadable."""
    head, body = answer
    headers = {}
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        headers[name.lower()] = value.strip()
    length = int(headers.get(b"content-length", len(body)))
    code = int(headers.get(b"x-braincore-exit", 0))
    if len(body) != length or not 0 <= code <= 255 or b"transfer-encoding" in headers:
        raise ValueError
    errors = unquote(headers.get(b"x-braincore-stderr", b""))
    write(1, body)
    write(2, errors)
    return code


def event_name(event: bytes) -> bytes:
    """The event's name, without parsing: the event needn't be valid JSON."""
    return event.partition(b'"hook_event_name"')[2].partition(b'"')[2].partition(b'"')[0]


def unchecked(client: bytes, event: bytes, store: bytes, problem: bytes) -> None:
    """Say that the event wasn't checked, in the shape the client accepts.

    `problem` goes into JSON as it is, so it must be plain ASCII without quotes.
    """
    if event_name(event) not in BEFORE_EDIT:
        write(2, b"braincore: event not delivered (%s)\n" % problem)
        return
    claude = client in (b"claude", b"codex")
    note = b"braincore: not checked (%s); " % problem
    if exists(store + b"/fail_closed"):
        note += b"fail_closed is set. Run `braincore doctor`."
        if claude:
            shape = b'{"hookSpecificOutput":{"hookEventName":"PreToolUse",'
            write(
                1, shape + b'"permissionDecision":"deny","permissionDecisionReason":"%s"}}' % note
            )
        elif client == b"gemini":
            write(1, b'{"decision":"deny","reason":"%s"}' % note)
        elif client == b"cursor":
            shape = b'{"permission":"deny","user_message":"%s","agent_message":"%s"}'
            write(1, shape % (note, note))
    else:
        note += b"the edit was let through"
        if claude:
            shape = (
                b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"%s"}}'
            )
            write(1, shape % note)
    write(2, note + b"\n")


def request_for(client: bytes, event: bytes, place: Place, folder: bytes) -> bytes:
    """The one HTTP request, complete."""
    store, root = quote(place[0]), quote(place[1])
    return (
        b"POST /v1/hook/%s HTTP/1.1\r\nHost: braincore\r\nConnection: close\r\n"
        b"X-Braincore-Store: %s\r\nX-Braincore-Protocol: %s\r\nX-Braincore-Version: %s\r\n"
        b"X-Braincore-Root: %s\r\nX-Braincore-Cwd: %s\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
    ) % (
        quote(client),
        store,
        PROTOCOL,
        VERSION.encode(),
        root,
        quote(folder),
        len(event),
        event,
    )


def main(client: bytes) -> int:
    """Serve the event on stdin; the exit code."""
    event = read_input()
    project = posix.environ.get(b"CLAUDE_PROJECT_DIR", b"")
    try:
        folder = posix.getcwdb()
    except OSError:
        if project[:1] != b"/":
            write(2, b"braincore: not checked (the working directory is gone)\n")
            return 0
        folder = project
    place = find_store(folder)
    if place is None and project[:1] == b"/":
        place = find_store(project)
    if place is None:
        return 0
    store = place[0]
    try:
        if len(event) > LIMIT:
            raise OSError("the event is larger than 32 MB")
        request = request_for(client, event, place, folder)
        answer = ask(store, request, time.monotonic() + WARM) or start_and_ask(place, request)
        return deliver(answer)
    except TimeoutError:
        problem = "owner did not answer in time"
    except OSError as error:
        problem = error.strerror or str(error)
    except ValueError:
        problem = "the answer of the owner can't be read"
    unchecked(client, event, store, problem.encode())
    return 0


def run() -> None:
    """Serve the client that the last argument names, and exit."""
    code = 0
    try:
        code = main(sys.argv[-1].encode())
    except (OSError, ValueError, KeyboardInterrupt) as problem:
        write(2, b"braincore: not checked (%s)\n" % type(problem).__name__.encode())
    # Nothing is buffered, so the interpreter's own slow farewell isn't needed.
    posix._exit(code)


if __name__ == "__main__":
    run()
