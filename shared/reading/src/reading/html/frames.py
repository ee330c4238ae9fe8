"""Blocks that hold other blocks, while a page is read: lists, items, definitions and notes. Pure."""

from dataclasses import dataclass, field

from lxml import etree

from documents.blocks import Block, DefinitionEntry, Definitions, ItemList, ListItem, Note
from reading.html.elements import first_number, note_title


@dataclass(slots=True)
class Frame:
    """A block that is open, with the blocks inside it."""

    kind: str
    """ "list", "item", "dl", "dd" or "note"."""
    element: etree._Element
    blocks: list[Block] = field(default_factory=list)
    items: list[ListItem] = field(default_factory=list)
    entries: list[DefinitionEntry] = field(default_factory=list)
    terms: list[str] = field(default_factory=list)
    anchor: str = ""
    title: str = ""

    @property
    def is_untitled_note(self) -> bool:
        return self.kind == "note" and not self.title and not self.blocks

    def close_entry(self) -> None:
        """Take the terms and blocks since the last entry of a definition list as an entry."""
        if self.blocks and not self.terms and self.entries:
            last = self.entries.pop()
            self.entries.append(DefinitionEntry(last.terms, (*last.blocks, *self.blocks), last.anchor))
        elif self.terms or self.blocks:
            self.entries.append(DefinitionEntry(tuple(self.terms), tuple(self.blocks), self.anchor))
        self.terms, self.blocks, self.anchor = [], [], ""

    def closed(self) -> Block | None:
        """Return the list or note; None if it is empty."""
        match self.kind:
            case "list":
                if self.blocks:
                    self.items.append(ListItem(tuple(self.blocks)))
                is_ordered = self.element.tag == "ol"
                return (
                    ItemList(tuple(self.items), is_ordered, first_number(self.element))
                    if self.items
                    else None
                )
            case "dl":
                self.close_entry()
                return Definitions(tuple(self.entries)) if self.entries else None
            case _:
                title = self.title or note_title(self.element)
                return Note(title, tuple(self.blocks)) if self.blocks else None
