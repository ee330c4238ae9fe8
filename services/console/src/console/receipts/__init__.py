"""What a brand has sent to other servers, and what is in doubt there."""
