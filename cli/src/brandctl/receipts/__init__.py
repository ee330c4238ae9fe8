"""`brandctl receipts`: effects on other people's servers."""
