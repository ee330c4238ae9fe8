"""`brandctl people`."""
