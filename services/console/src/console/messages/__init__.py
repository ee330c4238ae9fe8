"""Messages of all services, handled and running ones too, for operators."""
