"""Services that take notices of what is out: mail servers, and search engines."""
