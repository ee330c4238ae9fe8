"""A brand's calendar: articles, posts, schedules and free slots as a list, by week and by month; each can be moved."""
