-- contract: nobody changes keywords while this is applied, or a keyword of that moment would not be found by a part of it. The version
-- before inserts keywords through the same trigger, and reads no `keyword_spellings`.
lock table keywords in share row exclusive mode;

-- Keywords in lower case, to be found by a part of them. Apart from `keywords`, whose rows are written again with each step: these are
-- written once.
create table keyword_spellings (
    cycle_id uuid not null,
    position int  not null,
    spelling text not null,
    primary key (cycle_id, position)
);

-- All runs of three letters.
create function letters_in_threes(spelling text) returns text[] language sql immutable strict parallel safe as $$
    select coalesce(array_agg(substr(spelling, n, 3)), '{}') from generate_series(1, length(spelling) - 2) as n
$$;

create function spell_new_keywords() returns trigger language plpgsql as $$
begin
    insert into keyword_spellings select cycle_id, position, lower(keyword) from after_rows;
    return null;
end
$$;

insert into keyword_spellings select cycle_id, position, lower(keyword) from keywords;
alter table keyword_spellings add foreign key (cycle_id, position) references keywords on delete cascade;
create index keyword_spellings_by_letters on keyword_spellings using gin (letters_in_threes(spelling));

create trigger keywords_are_spelled after insert on keywords
    referencing new table as after_rows for each statement execute function spell_new_keywords();
