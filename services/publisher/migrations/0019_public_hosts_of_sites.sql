-- A name that is known within a network alone leads no visitor to a site. It would take the publisher's own name from the services that ask
-- for pages inside. `publisher.site_settings.hosts` says the same.
create function is_public_host(host text) returns boolean language sql immutable as $$
    select host ~ '\.([a-z]{2,63}|xn--[a-z0-9-]{2,59})$'
        and host !~ '\.(localhost|localdomain|local|internal|intranet|private|corp|lan|home|arpa|svc|onion|invalid)$'
$$;

with removed as (
    update site_settings set (address, settings, changed_at) = (null, settings - 'address', clock_timestamp())
    where not is_public_host(split_part(split_part(address, '//', 2), ':', 1))
    returning brand_slug
)
update sites set changed_at = clock_timestamp() where brand_slug in (select brand_slug from removed);

alter table site_settings add constraint site_settings_public_host
    check (is_public_host(split_part(split_part(address, '//', 2), ':', 1))) not valid;
