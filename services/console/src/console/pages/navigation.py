"""The entries of a brand's navigation; each screen names its own in its `routes.py`."""

from dataclasses import dataclass

from chassis.http.callers import Scope


@dataclass(frozen=True, slots=True)
class NavigationEntry:
    screen: str
    """The text is `<screen>.nav` of the catalogue."""
    path: str
    """Such as `/b/{brand}/drafts`; without `{brand}` the entry stands in the bar of the installation, or,
    with the scope `operate`, in the bar's menu of operators: all of them side by side are wider than a screen."""
    order: int
    scope: Scope = Scope.READ
    """Without it, the entry is not shown."""
    is_rare: bool = False
    """Whether a brand's entry stands in the menu “More”: all of them side by side are wider than a screen."""
