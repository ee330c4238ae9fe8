"""Pages of subscriptions, through which other systems take events."""
