-- To which brand a folder of `files` belongs, with everything below it. Folders of two brands never overlap.
create table target_folders (
    -- Below PUBLISH_FOLDER; in lower case, as some disks do not tell cases apart.
    folder     text        primary key check (folder = lower(folder)),
    brand_slug text        not null,
    since      timestamptz not null default clock_timestamp()
);
create index target_folders_of_brands on target_folders (brand_slug);

-- True: the folder is the brand's from now on, or was before. False: it overlaps another brand's.
create function take_folder(wanted text, brand text) returns boolean language plpgsql as $$
declare
    place text := lower(wanted);
begin
    -- One at a time: two folders may be new and overlap. The next statement sees what the one before took.
    perform pg_advisory_xact_lock(hashtextextended('publisher.target_folders', 0));
    if exists (
        select from target_folders as t where t.brand_slug <> brand
        and (t.folder = place or starts_with(t.folder, place || '/') or starts_with(place, t.folder || '/')))
    then
        return false;
    end if;
    insert into target_folders (folder, brand_slug) values (place, brand) on conflict (folder) do nothing;
    return true;
end
$$;

-- Each brand's own first, then those that were asked for, the oldest first. Who comes too late has none until an administrator gives it one.
select take_folder(brand_slug, brand_slug) from (
    select brand_slug from sites union select brand_slug from target_settings union select brand_slug from publications order by 1
) as brands;
select take_folder(folder, brand_slug) from (
    select settings ->> 'folder' as folder, brand_slug from target_settings
    where settings ->> 'folder' is not null order by changed_at, brand_slug, target
) as wanted;

-- The version before asks nobody: a folder of another brand is refused for it here.
create function demand_own_folder() returns trigger language plpgsql as $$
begin
    if not take_folder(new.settings ->> 'folder', new.brand_slug) then
        raise unique_violation using message = format('the folder %L belongs to another brand', new.settings ->> 'folder');
    end if;
    return null;
end
$$;
create trigger folders_of_changed_targets after update of settings on target_settings
    for each row when (new.settings ->> 'folder' is not null
                       and old.settings ->> 'folder' is distinct from new.settings ->> 'folder')
    execute function demand_own_folder();
create trigger folders_of_new_targets after insert on target_settings
    for each row when (new.settings ->> 'folder' is not null) execute function demand_own_folder();
