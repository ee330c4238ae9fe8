"""The research providers and their parts: the local corpus, its folder, its indexer."""
