"""How files look that site generators take, and how they are committed."""
