-- What lists of dead letters search and count, without their bodies and stacks: of a hundred thousand, these few bytes are read.
create table dead_letter_facts (
    id          uuid        primary key references dead_messages (id) on delete cascade,
    -- One number for all that have the same queue, reason, exception type, frame, type, service, code and version.
    kind        bigint      not null,
    -- As the expression of dead_messages_open_by_group.
    group_id    text        not null,
    state       text        not null,
    queue       text        not null,
    type        text,
    code        text,
    brand_slug  text,
    attempts    integer     not null,
    replayable  boolean     not null,
    failed_at   timestamptz not null,
    recorded_at timestamptz not null,
    -- Exception type, text and frame in lower case.
    error       text        not null
);
create index dead_letter_facts_by_kind on dead_letter_facts (kind, state, brand_slug, failed_at, recorded_at);

create function dead_letter_facts_of(letter dead_messages) returns dead_letter_facts language sql stable as $$
    select (letter).id,
           hashtextextended(jsonb_build_array((letter).queue, (letter).reason, (letter).exception_type, (letter).frame,
                                              (letter).type, (letter).service, (letter).code, (letter).version)::text, 0),
           to_hex(hashtextextended((letter).queue || chr(31) || (letter).reason || chr(31) || coalesce((letter).exception_type, '')
                                   || chr(31) || coalesce((letter).frame, ''), 0)),
           (letter).state, (letter).queue, (letter).type, (letter).code, (letter).brand_slug, (letter).attempts, (letter).replayable,
           (letter).failed_at, (letter).recorded_at,
           lower(concat_ws(chr(10), (letter).exception_type, (letter).detail, (letter).frame))
$$;

create function keep_dead_letter_facts() returns trigger language plpgsql as $$
begin
    insert into dead_letter_facts select f.* from dead_letter_facts_of(new) as f
    on conflict (id) do update
    set kind = excluded.kind, group_id = excluded.group_id, state = excluded.state, queue = excluded.queue, type = excluded.type,
        code = excluded.code, brand_slug = excluded.brand_slug, attempts = excluded.attempts, replayable = excluded.replayable,
        failed_at = excluded.failed_at, recorded_at = excluded.recorded_at, error = excluded.error;
    return null;
end
$$;

create function keep_state_in_dead_letter_facts() returns trigger language plpgsql as $$
begin
    update dead_letter_facts set state = new.state where id = new.id;
    return null;
end
$$;

-- By triggers, because many statements decide about dead letters, and so do replicas of the version before.
create trigger dead_letter_facts_of_new after insert on dead_messages for each row execute function keep_dead_letter_facts();
create trigger dead_letter_facts_of_moved after update of state on dead_messages for each row
    when (old.state is distinct from new.state) execute function keep_state_in_dead_letter_facts();
create trigger dead_letter_facts_of_changed after update on dead_messages for each row
    when ((old.queue, old.reason, old.exception_type, old.frame, old.type, old.service, old.code, old.version, old.brand_slug,
           old.attempts, old.replayable, old.failed_at, old.recorded_at, old.detail)
          is distinct from
          (new.queue, new.reason, new.exception_type, new.frame, new.type, new.service, new.code, new.version, new.brand_slug,
           new.attempts, new.replayable, new.failed_at, new.recorded_at, new.detail))
    execute function keep_dead_letter_facts();
