-- contract: keywords_with_waiting_posts_since has the same entries, and serves the version before as well.
drop index keywords_with_waiting_posts;
