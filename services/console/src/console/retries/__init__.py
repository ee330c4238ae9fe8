"""Messages of all services that wait for another attempt, for operators."""
