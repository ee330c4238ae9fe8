-- Where research looks for a brand. A brand without a row has the folder alone.
create table brand_sources (
    brand_slug text primary key,
    settings   jsonb not null,
    changed_at timestamptz not null default now()
);
comment on column brand_sources.settings is 'research.sources.domain.Sources';

-- What was found is reused only by who looks in the same places. Empty: the folder alone, as everything before.
alter table research add column looked_in text not null default '';
comment on column research.looked_in is 'fingerprint of the sources that the brand had';
