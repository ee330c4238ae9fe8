"""The process's own PostgreSQL database: connections and migrations."""
