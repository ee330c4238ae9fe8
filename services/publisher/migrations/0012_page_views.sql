-- How often each page was looked at on each day (UTC), by browsers that do not say they are robots. Of who looked, nothing is kept.
create table page_views (
    content_id uuid    not null references pages (content_id) on delete cascade,
    day        date    not null,
    views      integer not null check (views > 0),
    primary key (content_id, day)
);
