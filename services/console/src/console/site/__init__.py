"""A brand's own site: its look, tags, author and address, with a page as it will look."""
