-- When invitations were mailed, so that there is a bound on them. Neither to whom, nor what was in them.
create table invitation_mails (
    sent_at timestamptz not null default clock_timestamp()
);
create index invitation_mails_by_time on invitation_mails (sent_at);
