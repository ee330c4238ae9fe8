"""Texts in other markup than HTML, as the same trees of sections."""

import pytest

from documents.blocks import (
    DefinitionEntry,
    Definitions,
    Gap,
    ItemList,
    Label,
    Link,
    Listing,
    ListItem,
    Note,
    Paragraph,
)
from documents.sections import ENTRY_LEVEL, Section, TocLink
from reading.extraction import extract
from tests.fixtures.kiln_pages import COOL, HEAT, items, p


@pytest.mark.parametrize(
    ("path", "content", "anchors"),
    [
        ("a.md", f"# Kilns\n\n{HEAT}\n\n## Heat `it` up!\n\n1. One\n2. Two\n", ("kilns", "heat-it-up")),
        (
            "a.rst",
            f"Kilns\n=====\n\n{HEAT}\n\nHeat ``it`` up!\n---------------\n\n1. One\n2. Two\n",
            ("", ""),
        ),
        ("a.adoc", f"= Kilns\n\n{HEAT}\n\n== Heat `it` up!\n\n. One\n. Two\n", ("", "")),
    ],
)
def test_other_formats_have_the_same_tree(path: str, content: str, anchors: tuple[str, str]) -> None:
    numbered = ItemList(items("One", "Two"), ordered=True)
    heat = Section("Heat it up!", 2, anchors[1], (numbered,))
    assert extract(path, content.encode()).sections == Section("Kilns", 0, anchors[0], (p(HEAT),), (heat,))


RESTRUCTURED = f"""
.. _kilns:

Kilns
=====

Use :ref:`the heat <Heat>` (see :ref:`heat`) of ``kiln``, or `clay <https://example.org/a_b>`_.

.. toctree::

   clay
   Red clay <red/clay>

.. warning:: It is hot.

   - Very hot.

.. image:: kiln.png
.. seealso:: Nothing at all.

.. list-table::

   * - a

.. function:: kiln.on(heat)
              kiln.on()

   {HEAT}

term
    {COOL}

    ::

        kiln on
"""

ASCII = f"""= Kilns

[[kilns]]
Use link:heat_up.html[the heat] (see <<heat,Heat>>), or https://example.org/a_b[clay].

[NOTE]
====
It is hot.
====

.A kiln
----
kiln on
----

image::kiln.png[]

[#heat]
== Heat

-h::
--heat::
	{HEAT}
+
{COOL}
-c:: Cools.

|===
| a
|===

* One
** Two
"""


def test_restructured_text() -> None:
    document = extract("book/a.rst", RESTRUCTURED.encode())
    text = "Use the heat of kiln, or clay."
    links = (Link(4, 12, "book/a.rst#heat"), Link(25, 29, "https://example.org/a_b"))
    entry = Section("kiln.on", ENTRY_LEVEL, "kiln.on", (Listing(("kiln.on(heat)", "kiln.on()")), p(HEAT)))
    warning = Note("Warning", (p("It is hot."), ItemList(items("Very hot."))))
    terms = Definitions((DefinitionEntry(("term",), (p(COOL), Listing(("kiln on",)))),))
    blocks = (Paragraph(text, links), warning, Gap("figure"), Gap("table"), terms)
    assert document.sections == Section("Kilns", 0, "kilns", blocks, (entry,))
    assert document.toc == (TocLink("clay", "book/clay.rst"), TocLink("Red clay", "book/red/clay.rst"))


def test_asciidoc() -> None:
    document = extract("book/a.adoc", ASCII.encode())
    text = "Use the heat, or clay."
    links = (Link(4, 12, "book/heat_up.html"), Link(17, 21, "https://example.org/a_b"))
    blocks = (
        Paragraph(text, links),
        Note("Note", (p("It is hot."),)),
        Label("A kiln"),
        Listing(("kiln on",)),
        Gap("figure"),
    )
    terms = (
        DefinitionEntry(("-h", "--heat"), (p(HEAT), p(COOL))),
        DefinitionEntry(("-c",), (p("Cools."),)),
    )
    nested = ItemList((ListItem((p("One"), ItemList(items("Two")))),))
    heat = Section("Heat", 2, "heat", (Definitions(terms), Gap("table"), nested))
    assert document.sections == Section("Kilns", 0, "kilns", blocks, (heat,))
