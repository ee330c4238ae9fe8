-- What is left of an article that was deleted: that there was one. Whatever still comes about it finds that it is not to come back.
create table deleted_articles (
    content_id    uuid        primary key,
    brand_slug    text        not null references brands,
    address       text        not null,
    published_url text,
    deleted_at    timestamptz not null default clock_timestamp(),
    deleted_by    text        not null,
    reason        text        not null
);
create index deleted_articles_of_brands on deleted_articles (brand_slug, content_id);
