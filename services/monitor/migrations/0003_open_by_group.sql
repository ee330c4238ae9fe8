-- outside a transaction
-- What operators do to a whole group of like failures goes through it in pieces, oldest first. As in monitor.groups.
create index concurrently if not exists dead_messages_open_by_group on dead_messages (
    (to_hex(hashtextextended(
        queue || chr(31) || reason || chr(31) || coalesce(exception_type, '') || chr(31) || coalesce(frame, ''), 0
    ))),
    recorded_at, id
) where state = 'open';
