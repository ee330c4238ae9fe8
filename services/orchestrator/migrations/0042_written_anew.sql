alter table keywords
    -- Whether an article that stands on its subject is to be written anew.
    add column refresh boolean not null default false,
    -- Which one that is, once its turn has come.
    add column renews uuid;
