"""Search words of sections: those of a title, name or index term that tell its subject. Pure."""

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from typing import Final

from documents.words import bare_title, telling_stems
from reading.ranking.aboutness import LIGHT_STEMS

MAX_COMBINED: Final = 6
"""Words of a keyword whose combinations are looked up; of a longer one, only words that stand side by side."""
MAX_PRODUCT_WORDS: Final = 3


def stems_for_search(text: str) -> list[str]:
    """Return the stems of a name, sorted, without function words and words like "using" or "guide"."""
    stems = frozenset(telling_stems(bare_title(text)))
    return sorted(stems - LIGHT_STEMS or stems)


def names_within(stems: Sequence[str], product_words: Collection[str] = ()) -> list[str]:
    """Return the stems of all names that consist of words of a keyword, each as one text.

    Args:
        stems: of the keyword, as `stems_for_search` returns them.
        product_words: each name may have one of them besides: "Postfix queues" is within "queues".
    """
    found: Iterable[Sequence[str]]
    if len(stems) <= MAX_COMBINED:
        found = [chosen for size in range(1, len(stems) + 1) for chosen in combinations(stems, size)]
    else:
        found = [
            stems[at : at + size] for size in range(1, len(stems) + 1) for at in range(len(stems) - size + 1)
        ]
    besides = [(), *((each,) for each in sorted(product_words)[:MAX_PRODUCT_WORDS])]
    return list(dict.fromkeys(" ".join(sorted({*each, *more})) for more in besides for each in found))
