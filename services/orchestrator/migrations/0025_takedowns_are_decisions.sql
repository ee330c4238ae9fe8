-- contract: one more thing can be decided. The version before writes no decisions.
alter table content
    drop constraint content_decision_known,
    add constraint content_decision_known
        check (decision in ('approved', 'returned', 'rejected', 'taken_down')) not valid;
alter table decisions
    drop constraint decisions_decision_check,
    add constraint decisions_decision_known
        check (decision in ('approved', 'returned', 'edited', 'rejected', 'taken_down')) not valid;
