-- contract: the version before gets the same first versions; columns that it does not know are null in both tables.
-- The first version of an article takes every column that both tables have, so that a new field of articles is a column of each and nothing more.
create or replace function first_version() returns trigger language plpgsql as $$
begin
    insert into content_versions
    select * from jsonb_populate_record(null::content_versions, to_jsonb(new) || jsonb_build_object(
        'version', 1, 'slug', replace(new.slug, '-' || new.content_id, ''), 'made_by', 'writer', 'why', 'written from research',
        'made_at', new.created_at));
    return null;
end
$$;
