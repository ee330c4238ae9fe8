"""Where research may look for a brand: its folder, addresses, feeds, and the web. What operators set, and what is kept of it."""
