"""Pages that were made before, kept in memory for the next who asks: each is sent again while the database says that nothing it shows has changed.

Entered here: `Standings` knows in what state a page is, `Kept` has what was made of that state, `Answer` is what is sent.
"""

from publisher.kept.answer import Answer
from publisher.kept.asking import Standings
from publisher.kept.keeping import Kept

__all__ = ["Answer", "Kept", "Standings"]
