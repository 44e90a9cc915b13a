"""What every verb works with: keeper, code, rules, config and the clock of one worktree."""

import atexit
import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from braincore.brain.codebase import Codebase
from braincore.brain.keeper import Keeper
from braincore.config import Config, parse_config
from braincore.errors import BraincoreError, StoreError
from braincore.guard.negative import Armed
from braincore.index.code import Scan
from braincore.index.rulefiles import RuleFiles
from braincore.intake.statement import Caller
from braincore.journal.store import Change, Why
from braincore.locate import IGNORED, Place
from braincore.model.records import Record
from braincore.model.table import Table
from braincore.rules.load import load_rules
from braincore.rules.schema import RuleError, RuleSet

__all__ = ["Parts", "wall_clock"]


def wall_clock() -> datetime:
    """Now, aware, in UTC."""
    return datetime.now(UTC)


class Parts:
    """One open brain without its verbs. Everything may be called from any thread."""

    def __init__(
        self,
        place: Place,
        clock: Callable[[], datetime] = wall_clock,
        keeper: Keeper | None = None,
    ) -> None:
        """`keeper`: that of another worktree's brain, since all worktrees share one store."""
        self.place = place
        self.clock = clock
        name = hashlib.sha256(os.fsencode(place.root)).hexdigest()[:12]
        self._rule_files = RuleFiles(place.brain, place.store / "mirror" / name)
        self._rules_lock = threading.Lock()
        self._stamp: object = None
        self._rules = RuleSet((), ())
        self.config = Config()
        self.config_problem = ""
        self._refresh_rules()
        self._owns_keeper = keeper is None
        self.keeper = keeper or Keeper(place, clock, fsync=self.config.fsync)
        self._use_embedder()
        self.code = Codebase(
            place.root,
            place.store / "index" / f"code-{name}.db",
            str(place.store),
            self.config.max_file_bytes,
        )
        self._closed = False
        atexit.register(self.close)  # the graph engine crashes when it is left open at exit
        self._armed: dict[str, tuple[Record, Armed | None]] = {}
        self._armed_list: list[Armed] = []
        self._armed_at: str | None = ""

    @property
    def table(self) -> Table:
        """The record table; hold `keeper.lock` while using it."""
        return self.keeper.table

    def close(self) -> None:
        """Bring everything to disk and let go of the store; safe to call again."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        if self._owns_keeper:
            self.keeper.close()
        self.code.close()

    # — worktree —

    def attach(self) -> list[str]:
        """Make memory/ and the pointers to the journal, or restore them after `git clean`.

        Returns the rules and config files that were brought back.
        """
        restored = [] if self._marker.exists() else self._rule_files.restore()
        self._ignore_memory()
        self.keeper.attach(self.place)
        with self._rules_lock:
            self._rule_files.mirror()
        return restored

    def _ignore_memory(self) -> None:
        """Before memory/ is there: else `git add .` would publish what is remembered."""
        ignore = self.place.brain / ".gitignore"
        try:
            self.place.brain.mkdir(parents=True, exist_ok=True)
            if not ignore.exists():
                ignore.write_text(IGNORED, encoding="utf-8")
        except OSError as error:
            raise StoreError(str(ignore), str(error)) from None

    @property
    def _marker(self) -> Path:
        """An ignored file that only braincore makes: where it is missing, `git clean` was here."""
        return self.place.brain / ".internal-git"

    def index(self, progress: Callable[[int], None] = lambda done: None) -> Scan:
        """Bring the code index to the working tree. The graph shows the owner's own worktree."""
        return self.code.update(self.keeper.graph if self._owns_keeper else None, progress)

    def rules(self) -> RuleSet:
        """Shipped and project rules as they are on disk now; stat'ed each time."""
        in_the_way = self.place.brain.exists() and not self.place.brain.is_dir()
        if not self._marker.exists() and not in_the_way:
            self.attach()
        self._refresh_rules()
        self._use_embedder()
        return self._rules

    def _refresh_rules(self) -> None:
        with self._rules_lock:
            stamp = self._rule_files.stamp()
            if stamp == self._stamp:
                return
            texts, unreadable = self._rule_files.read()
            loaded = load_rules(texts)
            errors = [
                RuleError(path, 1, 1, problem, "Save it as UTF-8 text.")
                for path, problem in unreadable
            ]
            self._rules = RuleSet(loaded.rules, (*loaded.errors, *errors))
            try:
                text = self._rule_files.config()
                self.config = parse_config(text, "config.toml") if text is not None else Config()
                self.config_problem = ""
            except (BraincoreError, OSError, UnicodeDecodeError) as error:
                # The last good settings stay in force; status and doctor say what is wrong.
                self.config_problem = str(error)
            if self.place.store.is_dir():
                if (
                    self._marker.exists()
                ):  # else `git clean` was here, and the mirror is all we have
                    self._rule_files.mirror()
                self._rule_files.set_flag("fail_closed", self.config.fail_closed)
            self._stamp = stamp

    def _use_embedder(self) -> None:
        """The store has one set of vectors, chosen by the owner's own worktree."""
        if self._owns_keeper:
            self.keeper.semantic.configure(self.config.embedder, self.config.model)

    def _commit(self, changes: Sequence[Change], caller: Caller, verb: str, why: str) -> str:
        return self.keeper.commit(changes, Why(verb, caller.ref, str(caller.channel), why))
