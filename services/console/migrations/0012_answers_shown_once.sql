-- A page that shows a secret once: the same press again, within two minutes, gets it again.
alter table done_once add column shown bytea;
comment on column done_once.shown is 'the page, sealed by the session of the press; emptied after some minutes';
