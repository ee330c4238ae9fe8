"""What each service's doctor finds at the broker and its database, for operators."""
