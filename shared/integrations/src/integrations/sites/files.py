"""Files in a folder, for Hugo, Astro, Jekyll and Eleventy."""

from typing import Final

from integrations.sites.site import Site

FILES: Final = Site(
    name="files",
    title="Files",
    position=4,
    review="",
    price="",
    lost_article="written again",
)
