"""`brandctl receipts`: effects on outside servers."""
