-- contract: a keyword may be in one more state. The version before writes none but those it knows, and reads facts, not states.
alter table keywords
    drop constraint keywords_state_known,
    add constraint keywords_state_known check (state in (
        'queued', 'writing', 'publishing', 'promoting', 'completed', 'refused', 'needs_review', 'rejected', 'failed',
        'cancelled'
    )) not valid;
