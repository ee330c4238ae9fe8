"""What calls of models and search engines cost, the caps, and the switch that stops spending."""
