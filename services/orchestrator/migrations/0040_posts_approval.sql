-- Which posts of a brand wait until a person has approved them. The version before sends none that wait.
alter table brands add column posts_approval text not null default 'nothing';
alter table brands add constraint brands_posts_approval_known check (posts_approval in ('everything', 'nothing')) not valid;
