"""Moves a brand to another installation: pauses it, copies it, and lets it go on there alone.

The former installation stores how far a move is, and the other one which rows it has. So a move that broke off continues with the same call,
from any machine. `MoveStep`s follow each other; each may be repeated.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile

from client.archive_reading import open_archive
from client.brand_archive import BUILT_IN, BrandArchive
from client.brand_import import BrandImport, ImportReport
from client.errors import ClientError, RefusedError

if TYPE_CHECKING:
    from client.services.gateway import Gateway
    from client.services.orchestrator import Orchestrator, answers
    from client.services.publisher import Publisher
    from client.services.research import Research
    from client.services.social import Social

_LOOK_EVERY_SECONDS: Final = 0.5
_NO_ID: Final = UUID(int=0)


MoveStep: TypeAlias = Literal["draining", "frozen", "imported", "handing_over", "moved", "resumed"]
"""In their order; see `BrandMoveView.step`."""


class MoveError(ClientError):
    """The move cannot begin, or not go on now; the message says what to do."""


@dataclass(frozen=True, slots=True)
class MovingSide:
    """The services of one of the two installations, with keys of the scope `admin` for all brands."""

    orchestrator: "Orchestrator"
    research: "Research"
    publisher: "Publisher"
    social: "Social"
    gateway: "Gateway | None" = None
    """Without one on both sides, accounts stay and are connected again."""


@dataclass
class MoveReport:
    """What became of a move."""

    brand: str
    to: str
    step: str = ""
    """The last step that was reached; `resumed` is the end."""
    paused_seconds: float | None = None
    """From the pause to the end of this call, if the brand was paused by it."""
    imported: ImportReport | None = None
    accounts: list[str] = field(default_factory=list)
    """Names of the accounts that came along."""
    connect_again: list[str] = field(default_factory=list)
    """Accounts that a person connects at the other installation."""
    stays_paused: bool = False
    """A person had paused the brand before the move: it is paused there, too."""


@dataclass
class BrandMover:
    """Moves the brand `brand` from one side to another, whose address for people is `to`.

    `progress` is told each step; `wait` is the most seconds that running work may take to end.
    """

    brand: str
    source: MovingSide
    target: MovingSide
    to: str
    progress: Callable[[str], None] = lambda _: None
    wait: float = 120.0

    def look(self) -> Mapping[str, int]:
        """Checks that the move can begin or go on, and changes nothing; returns what is going out now.

        Raises:
            MoveError: it cannot; the message says why.
            RefusedError: a key is not sufficient.
        """
        brand = self.source.orchestrator.get_brand(self.brand)
        move = self.find()
        self._check_other_side(is_begun=move is not None)
        if move is None:
            self._check_names()
        if move is not None:
            if move["to"] != self.to:
                raise MoveError(
                    f"{self.brand} moves to {move['to']} already: give --to for that one, or give it up with --cancel"
                )
            return dict(move["under_way"])
        counters = brand["agent"]["counters"]
        runs = (
            {"articles": counters["generated"], "drafts waiting": counters["drafts_waiting"]}
            if counters
            else {}
        )
        going = self._going_out()
        if letters := going.get("letters of the newsletter"):
            raise MoveError(
                f"{letters} letters of the newsletter of {self.brand} are to go out within some minutes: repeat the move after that"
            )
        return runs | going

    def find(self) -> "answers.BrandMoveView | None":
        """The brand's move, if one has begun."""
        try:
            return self.source.orchestrator.get_brand_move(self.brand)
        except RefusedError as error:
            if error.code == "unknown_move":
                return None
            raise

    def _check_other_side(self, *, is_begun: bool) -> None:
        """Refuses a brand that is there already, and keys that could not import, before anything stops."""
        services: dict[str, Any] = {
            "orchestrator": self.target.orchestrator,
            "research": self.target.research,
            "publisher": self.target.publisher,
            "social": self.target.social,
        }
        parts = {"orchestrator": "settings", "research": "research", "publisher": "sites", "social": "feeds"}
        for name, service in services.items():
            # Stores nothing: it has no rows.
            service.import_brand_part(self.brand, parts[name], import_id=_NO_ID, rows=[])
        if is_begun:
            return
        try:
            self.target.orchestrator.get_brand(self.brand, counters=False)
        except RefusedError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return
            raise
        raise MoveError(
            f"the other installation has a brand {self.brand} already: erase it there, or look whether --to names this installation"
        )

    def _going_out(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for service in (self.source.publisher, self.source.social):
            found |= service.get_brand_departure(self.brand)["under_way"]
        return found

    def run(self) -> MoveReport:
        """Moves the brand, or continues; a move that is over changes nothing.

        Raises:
            MoveError: running work did not end in time; the brand stays paused, and the same call continues.
            ClientError: a service cannot be reached or refuses; the same call continues.
        """
        self.look()
        begun = time.monotonic()
        move = self.source.orchestrator.begin_brand_move(self.brand, to=self.to)
        report = MoveReport(self.brand, self.to, move["step"], stays_paused=move["was_paused"])
        was_draining = move["step"] == "draining"
        if move["step"] == "draining":
            move = self._drain(move)
        if move["step"] == "frozen":
            self._depart(move)
            report.imported = self._copy(move)
            move = self._note(move, "imported")
        if move["step"] == "imported":
            self._check_names()
            move = self._note(move, "handing_over")
        if move["step"] == "handing_over":
            self._hand_over(move, report)
            move = self._note(move, "moved")
        if move["step"] == "moved":
            if not move["was_paused"]:
                self.progress("the brand goes on at the other installation")
                self.target.orchestrator.resume_brand(self.brand)
            move = self._note(move, "resumed")
        report.step = move["step"]
        report.connect_again = self._find_missing()
        if was_draining:
            report.paused_seconds = time.monotonic() - begun
        return report

    def cancel(self) -> None:
        """Gives a move up before the accounts change over: the brand goes on here.

        Raises:
            RefusedError: it is too late.
        """
        move = self.find()
        if move is None:
            raise MoveError(f"{self.brand} moves nowhere")
        if move["step"] in {"draining", "frozen", "imported"}:
            for service in (self.source.publisher, self.source.social):
                service.delete_brand_departure(self.brand)
        self.source.orchestrator.cancel_brand_move(self.brand)

    def _check_names(self) -> None:
        """Refuses names of accounts that others have at the other installation: posts name their accounts.

        Raises:
            MoveError: there are such names.
        """
        if self.source.gateway is None or self.target.gateway is None:
            return
        ours = [
            each["name"]
            for each in self.source.gateway.list_accounts(brand=self.brand)["items"]
            if each["brands"] == [self.brand]
        ]
        taken = {each["name"] for each in self.target.gateway.list_accounts()["items"]}
        if both := sorted(taken & set(ours)):
            raise MoveError(
                f"the other installation has other accounts of the names {', '.join(both)}: give those others, and repeat the command"
            )

    def _hand_over(self, move: "answers.BrandMoveView", report: MoveReport) -> None:
        """Hands the brand's own accounts over: only their two gateways see them.

        Raises:
            MoveError: a name is taken at the other installation.
        """
        source, target, move_id = self.source.gateway, self.target.gateway, move["move_id"]
        if source is None or target is None:
            return
        try:
            expected = target.begin_account_move(move_id, brand=self.brand)
            if not expected["has_ended"]:
                self.progress("hands the accounts over")
                handed = source.export_accounts(move_id, brand=self.brand, public_key=expected["public_key"])
                arrived = target.import_accounts(move_id, brand=self.brand, sealed=handed["sealed"])
                if taken := arrived["name_taken"]:
                    raise MoveError(
                        f"the other installation has other accounts of the names {', '.join(taken)}: disconnect those there, and repeat"
                        " the command"
                    )
                report.accounts = arrived["accounts"]
            else:
                report.accounts = expected["arrived"]
        except RefusedError as error:
            if error.code != "moves.no_key":
                raise
            self.progress(f"accounts stay: {error}")
            return
        self._keep_newsletter(report)

    def _keep_newsletter(self, report: MoveReport) -> None:
        """Turns the newsletter on at the other side, if it was on and its account has come along."""
        newsletter = self.source.publisher.get_newsletter_state(self.brand)
        if not newsletter["is_on"] or newsletter["account"] not in report.accounts:
            return
        try:
            self.target.publisher.enable_newsletter(self.brand, account=newsletter["account"])
        except RefusedError as error:
            if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            self.progress(f"the newsletter stays off: {error}")

    def _find_missing(self) -> list[str]:
        """Channels and targets of the brand for which the other side has no account."""
        brand = self.source.orchestrator.get_brand(self.brand, counters=False)["policy"]
        there: set[str] = set(BUILT_IN)
        if self.target.gateway is not None:
            for each in self.target.gateway.list_accounts(brand=self.brand)["items"]:
                there |= {each["name"], each["kind"]}
        targets = brand["targets"] or [brand["target"]]
        wanted = [("target", name) for name in targets] + [("channel", name) for name in brand["channels"]]
        return [f"{what} {name}" for what, name in wanted if name not in there]

    def _note(self, move: "answers.BrandMoveView", step: "MoveStep") -> "answers.BrandMoveView":
        return self.source.orchestrator.set_move_step(self.brand, move_id=move["move_id"], step=step)

    def _drain(self, move: "answers.BrandMoveView") -> "answers.BrandMoveView":
        self.progress("paused: what runs ends")

        def freeze() -> Mapping[str, int]:
            nonlocal move
            move = self._note(move, "frozen")
            return dict(move["under_way"]) if move["step"] == "draining" else {}

        self._until_nothing(freeze)
        return move

    def _depart(self, move: "answers.BrandMoveView") -> None:
        for service in (self.source.publisher, self.source.social):

            def leave(service: Any = service) -> Mapping[str, int]:
                found = service.set_brand_departure(self.brand, move_id=move["move_id"])
                return {} if found["left_at"] else found["under_way"]

            self._until_nothing(leave)

    def _until_nothing(self, ask: Callable[[], Mapping[str, int]]) -> None:
        """Asks until nothing is under way.

        Raises:
            MoveError: it takes longer than `wait`.
        """
        until = time.monotonic() + self.wait
        told = ""
        while runs := ask():
            says = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in runs.items())
            if says != told:
                self.progress(f"waits for {says}")
                told = says
            if time.monotonic() >= until:
                raise MoveError(
                    f"{self.brand} still has {says} after {self.wait:.0f} seconds. It stays paused: repeat the command to wait longer,"
                    " or give the move up with --cancel"
                )
            time.sleep(_LOOK_EVERY_SECONDS)

    def _copy(self, move: "answers.BrandMoveView") -> ImportReport:
        """Copies all rows through a file without a name, which is gone with this process."""
        self.progress("copies the brand")
        source, target = self.source, self.target
        with TemporaryFile() as file:
            with ZipFile(file, "w", ZIP_DEFLATED) as written:
                BrandArchive(written, self.brand, source.orchestrator).write_for_move(
                    source.research, source.publisher, source.social, str(move["move_id"])
                )
            with open_archive(file) as archive:
                return BrandImport(
                    archive,
                    target.orchestrator,
                    target.research,
                    target.publisher,
                    target.social,
                    self.progress,
                    goes_on=True,
                ).run()
