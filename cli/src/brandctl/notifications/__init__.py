"""Commands about notifications: routes, open notifications, and the log."""
