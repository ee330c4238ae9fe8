-- outside a transaction
create index concurrently if not exists notes_of_guest_link on notes (guest_link, created_at) where guest_link is not null;
