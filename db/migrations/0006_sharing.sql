-- Tries give their slots back; what tenants use is kept.

-- Asks tries to give back: p is a list of {id, why}, ids are row addresses of leases. The caller has the allocator's lock.
create function app.preempt_tries(p jsonb) returns integer language plpgsql as $$
declare
  v_asked integer;
begin
  with asked as (
    update app.lease l set preempted_at = app.now()
    from jsonb_to_recordset(p) as x(id text, why text)
    where l.ctid = x.id::tid and l.granted_at is not null and l.task_id <> '' and l.preempted_at is null
    returning l.run, l.task_id, l.map_index, l.try, x.why
  ), stops as (
    insert into app.stop (run, task_id, map_index, try, give_back)
    select a.run, a.task_id, a.map_index, a.try, a.why from asked a
    on conflict do nothing
  ), alerts as (
    insert into app.alert (run, task_id, map_index, try, kind, message)
    select a.run, a.task_id, a.map_index, a.try, 'preempted', a.why from asked a
    on conflict do nothing
  )
  select count(*) into v_asked from asked;
  return v_asked;
end $$;

-- What a tenant's try used, however it ended; what it used before midnight is of the day before.
create function app.keep_spent() returns trigger language plpgsql as $$
declare
  v_midnight timestamptz := date_trunc('day', app.now() at time zone 'UTC') at time zone 'UTC';
begin
  insert into app.spent (tenant, at, core_ms)
  select substr(k.key, 8), d.at, sum(g.cores * extract(epoch from d.until - d.since) * 1000)
  from gone g cross join unnest(g.limits) as k(key)
  cross join lateral (values
    (app.now(), greatest(g.granted_at, v_midnight), app.now()),
    (v_midnight - interval '1 millisecond', g.granted_at, v_midnight)) as d(at, since, until)
  where g.limits <> '{}' and g.granted_at is not null and k.key like 'tenant:%' and d.since < d.until
  group by k.key, d.at;
  return null;
end $$;
create trigger keep_spent after delete on app.lease referencing old table as gone for each statement execute function app.keep_spent();

-- Slots (cores) that a tenant had in use on an average of late: use counts by half after p_half_life_ms.
create function app.recent_use(p_tenant text, p_half_life_ms double precision) returns double precision language sql stable as $$
  select coalesce(sum(s.core_ms * power(0.5, extract(epoch from app.now() - s.at) * 1000 / p_half_life_ms)), 0) / (p_half_life_ms / ln(2))
  from app.spent s where s.tenant = p_tenant and s.at > app.now() - make_interval(secs => 10 * p_half_life_ms / 1000)
$$;

-- Core-hours of a tenant since midnight UTC, with what its tries under way have used so far.
create function app.core_hours_today(p_tenant text) returns double precision language sql stable as $$
  select (
    coalesce((select sum(s.core_ms) from app.spent s
              where s.tenant = p_tenant and s.at >= date_trunc('day', app.now() at time zone 'UTC') at time zone 'UTC'), 0)
    + coalesce((select sum(l.cores * extract(epoch from app.now() - greatest(l.granted_at, date_trunc('day', app.now() at time zone 'UTC') at time zone 'UTC')) * 1000)
                from app.lease l where l.granted_at is not null and l.limits <> '{}' and ('tenant:' || p_tenant) = any (l.limits)), 0)
  )::double precision / 3600000
$$;

-- Adds what was used up by the minute, drops what is older than a week, and marks the tenants that have used up their day.
create function app.roll_spent() returns void language plpgsql as $$
begin
  -- One at a time: it adds up what it deletes.
  if not pg_try_advisory_xact_lock(72, 6) then return; end if;
  with old as (
    delete from app.spent s where s.at < date_trunc('minute', app.now()) and s.at > app.now() - interval '2 hours'
      and date_trunc('minute', s.at) <> s.at
    returning s.tenant, date_trunc('minute', s.at) as at, s.core_ms
  )
  insert into app.spent (tenant, at, core_ms) select o.tenant, o.at, sum(o.core_ms) from old o group by o.tenant, o.at;
  delete from app.spent s where s.at < app.now() - interval '7 days';
  update app.account a
  set exhausted_until = case when app.core_hours_today(substr(a.key, 8)) >= a.core_hours
                             then (date_trunc('day', app.now() at time zone 'UTC') + interval '1 day') at time zone 'UTC' end
  where a.key like 'tenant:%' and (a.core_hours is not null or a.exhausted_until is not null)
    and a.exhausted_until is distinct from case when app.core_hours_today(substr(a.key, 8)) >= a.core_hours
                             then (date_trunc('day', app.now() at time zone 'UTC') + interval '1 day') at time zone 'UTC' end;
end $$;
