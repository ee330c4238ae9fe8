-- How many stale articles audits may have written anew in a week; null: none.
alter table brands add column refresh_stale int;
-- When an audit had it written anew last.
alter table content add column refreshed_at timestamptz;

-- When an article was last written from research, as it stands.
create function written_at(article content) returns timestamptz language sql stable as $$
    select greatest(article.created_at, (
        select max(made_at) from content_versions as v
        where v.content_id = article.content_id and v.version between 2 and article.version and v.made_by = 'writer'))
$$;
