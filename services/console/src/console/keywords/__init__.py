"""Keywords of a brand: hand them in, watch them, and see why one waits or was refused."""
