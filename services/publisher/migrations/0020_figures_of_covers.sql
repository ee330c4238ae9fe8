-- What the cover of a page shows beside its pattern: a few numbers of a table in it, as JSON. Null: none, or an older rendering.
alter table pages add column figure text;
-- Lists of articles show covers, too, in a format of their own.
-- contract: what the version before stores is allowed as before.
alter table covers drop constraint covers_format_check;
alter table covers add constraint covers_format_check check (format in ('png', 'jpg', 'webp')) not valid;
