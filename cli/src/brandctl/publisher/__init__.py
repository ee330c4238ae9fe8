"""Commands that ask the publisher: how a brand's site looks and where it is found, and how articles are at other targets."""
