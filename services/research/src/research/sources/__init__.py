"""Source settings: the folder, addresses, feeds and web searches that research may use for a brand."""
