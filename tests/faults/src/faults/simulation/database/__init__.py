"""The simulated database: tables and transactions, the SQL functions of messaging over them, and the pool."""
