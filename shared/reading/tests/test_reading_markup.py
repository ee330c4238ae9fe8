"""reStructuredText and AsciiDoc are read as what they are, in files called .txt too."""

import pytest

from reading.document import ExtractedDocument
from reading.extraction import extract

RESTRUCTURED = """\
.. _grinding:
.. highlight:: sh

=================
Grinding coffee
=================

:Author: Jane Doe
:Status: draft

Set :ref:`the grinder <grinder>` to a *medium* size, and call ``grind --size=4`` before
you brew with :class:`~kitchen.brewing.Kettle`, as `the manual <https://example.org>`_ says [1]_.

.. note::

   The beans must be dry, or the burrs will not hold them at all.

.. image:: beans.png
   :alt: Beans that nobody has ground yet, in a bag.

.. code-block:: sh

   grind --all the beans in the house, whatever size they have now.

Water
-----

Heat it as follows, and mind the lid of the kettle while you do::

    boil --degrees 94 and then wait for half a minute or so.

* The first pour wets the grounds, and they rise a little.
* The second pour takes its time,
  and fills the rest of the cup.

bloom
    What the grounds do when the first of the water reaches them.

+-------+--------------------------------------+
| size  | how long it takes to brew a cup.     |
+-------+--------------------------------------+

.. [1] A footnote that says nothing a reader would ever need here.
.. A comment that nobody is ever meant to see on any page.
"""

ASCIIDOC = """\
= Grinding coffee
Jane Doe <jane@example.org>
:toc:
:kettle: the kettle

[[grinding]]
Set link:grinder.html[the grinder] to a *medium* size, and call `grind --size=4` before
you brew with {kettle}, as https://example.org[the manual] says.footnote:[It does.]

NOTE: The beans must be dry, or the burrs will not hold them at all.

image::beans.png[Beans that nobody has ground yet, in a bag.]

.A listing
[source,sh]
----
grind --all the beans in the house, whatever size they have now.
----

Water
-----

// A comment that nobody is ever meant to see on any page.

* The first pour wets the grounds, and they rise a little.
* The second pour takes its time,
  and fills the rest of the cup.

bloom::
	What the grounds do when the first of the water reaches them.

|===
| size | how long it takes to brew a cup.
|===

include::rest-of-the-text-that-is-elsewhere.txt[]
"""


def texts(document: ExtractedDocument) -> str:
    return "\n".join(passage.text for passage in document.passages)


@pytest.mark.parametrize("name", ["a.rst", "a.txt", "sources/a.rst.txt"])
def test_restructured_text(name: str) -> None:
    document = extract(name, RESTRUCTURED.encode())
    shown = texts(document)
    assert document.title == "Grinding coffee"
    assert (
        "Set the grinder to a medium size, and call grind --size=4 before you brew with Kettle, as the manual says."
        in shown
    )
    assert "The beans must be dry" in shown
    assert "fills the rest of the cup." in shown
    assert "What the grounds do" in shown
    assert {passage.heading for passage in document.passages} == {None, "Water", "bloom"}
    for left_out in ("nobody", "Jane", "::", "`", "+--", "how long", "footnote", "[1]", "whatever size"):
        assert left_out not in shown


def test_a_reference_in_angle_brackets_keeps_its_text() -> None:
    text = "Kilns\n=====\n\nA `<section>`_ may hold other :ref:`parts <parts>`, whatever their names in it are.\n"
    assert texts(extract("a.rst", text.encode())) == (
        "A <section> may hold other parts, whatever their names in it are."
    )


@pytest.mark.parametrize("name", ["a.adoc", "a.asciidoc", "a.txt"])
def test_asciidoc(name: str) -> None:
    document = extract(name, ASCIIDOC.encode())
    shown = texts(document)
    assert document.title == "Grinding coffee"
    assert (
        "Set the grinder to a medium size, and call grind --size=4 before you brew with the kettle, as the manual says."
        in shown
    )
    assert "The beans must be dry" in shown
    assert "NOTE" not in shown
    assert "fills the rest of the cup." in shown
    assert "What the grounds do" in shown
    assert {passage.heading for passage in document.passages} == {None, "Water", "bloom"}
    for left_out in ("nobody", "Jane", "[", "{", "|", "It does", "how long", "include", "whatever size"):
        assert left_out not in shown


@pytest.mark.parametrize(
    "text",
    [
        "About brewing\n\nSet the grinder to 4::1, and wait for a while before you brew the coffee.",
        "About brewing\n\n- Grind the beans to a medium size before you brew.\n- Wait for some time.",
    ],
)
def test_plain_text_stays_plain(text: str) -> None:
    assert extract("a.txt", text.encode()).title == "About brewing"


def test_underlined_headings_of_plain_text_are_headings() -> None:
    prose = "Grind the beans to a medium size before you brew."
    document = extract("a.txt", f"Brewing\n=======\n\n{prose}\n\nWater\n-----\n\n{prose}".encode())
    assert (document.title, [each.heading for each in document.passages]) == ("Brewing", [None, "Water"])


@pytest.mark.extended
@pytest.mark.parametrize("name", ["a.rst", "a.adoc"])
def test_depth_and_broken_markup_are_survived(name: str) -> None:
    for text in ("\n".join(" " * n + "- x" for n in range(3000)), "=" * 5000, "....\n" * 999, "`" * 20_000):
        extract(name, text.encode())
