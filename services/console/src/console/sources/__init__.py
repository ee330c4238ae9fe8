"""Where research may look for a brand, and the documents that it has read or set aside."""
