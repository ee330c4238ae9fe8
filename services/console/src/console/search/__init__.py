"""Search over pages, brands, keywords, drafts and articles."""
