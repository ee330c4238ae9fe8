-- What keeps a post that is due: its brand is paused, its page taken down. It is not looked at again earlier.
alter table pending_posts add column held_until timestamptz;
