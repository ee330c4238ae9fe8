"""Commands about a brand's site and its targets, which call the publisher."""
