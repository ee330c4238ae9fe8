"""Posts of a brand: as each network shows them, with decisions, receipts and what a late one waits for."""
