"""Reading documents: from the bytes of a file to passages, in processes that a hostile file may bring down."""
