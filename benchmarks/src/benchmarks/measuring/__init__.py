"""How figures and verdicts come about: drains, and the effects that they leave."""
