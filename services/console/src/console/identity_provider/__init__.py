"""The identity provider at which people sign in, as far as the console knows it: attempts of browsers, and what the gateway answers."""
