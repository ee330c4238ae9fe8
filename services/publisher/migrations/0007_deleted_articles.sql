-- Articles that were deleted: no page of theirs is made any more, however late it is asked for. Addresses that they had are among
-- the former ones, and lead nowhere.
create table deleted_articles (
    content_id uuid        primary key,
    brand_slug text        not null,
    deleted_at timestamptz not null default clock_timestamp()
);
