"""What is said to research: where it looks for a brand, and which documents it reads."""
