"""One stream of server-sent events for each tab, which says that something of its page has changed."""
