-- Requests under way at an account, by brand; expired ones do not count. Provider accounts have the names of providers, accounts
-- of brands names with `accounts/` before them.
create function requests_under_way(asked text) returns table (brand text, calls bigint) language sql stable as $$
    select c.brand, count(*) from calls as c
    where c.provider = asked and c.state = 'sent' and c.lease_until > clock_timestamp() group by c.brand
    union all
    select c.brand, count(*) from account_calls as c
    where asked like 'accounts/%' and c.account = substr(asked, length('accounts/') + 1) and c.until > clock_timestamp()
    group by c.brand
$$;
