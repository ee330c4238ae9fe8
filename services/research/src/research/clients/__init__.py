"""Where research looks: one module per provider."""
