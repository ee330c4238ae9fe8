"""Commands about what goes out when: posts, which social has, and articles and schedules, which the orchestrator has."""
