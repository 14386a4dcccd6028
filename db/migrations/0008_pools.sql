-- What pools were asked for and what they gave, for people and for the signals of starvation (C4).

-- Leases of tries that are gone since app.sample_pools last added them up: when they were asked for and granted. Neither
-- tries nor cells know their pool, and looking at the queue now and then misses what comes and goes in between. A row
-- as it is, without index or sum, costs 34 us a statement that frees leases (151 us in all; summed at once: 50 us).
create table app.ended_lease (
  account      text not null,
  class        smallint not null,
  requested_at timestamptz not null,
  granted_at   timestamptz
);
create function app.keep_flow() returns trigger language plpgsql as $$
begin
  insert into app.ended_lease (account, class, requested_at, granted_at)
  select g.account, g.class, g.requested_at, g.granted_at from gone g where g.task_id <> '';
  return null;
end $$;
create trigger keep_flow after delete on app.lease referencing old table as gone for each statement execute function app.keep_flow();

-- Their arrivals and grants by the minute in which they came. Those of leases that are there, these say themselves.
create table app.flow (
  account text not null,
  class   smallint not null,
  at      timestamptz not null,                    -- the full minute
  asked   integer not null,
  granted integer not null,
  primary key (account, at, class)
);
create index flow_at on app.flow (at);

-- How full pools were, each 10 s for two hours, then each minute for a week: at most 11,000 rows a pool. A pool without
-- work has none.
create table app.pool_sample (
  account    text not null,
  at         timestamptz not null,                 -- a full 10 s
  slots      integer not null,
  used       integer not null,
  waiting    integer not null,
  longest_ms double precision,                     -- how long what waits has waited; null: nothing does
  p95_ms     double precision,
  primary key (account, at)
);
create index pool_sample_at on app.pool_sample (at);

-- Looks at all pools once in 10 s, whoever calls; adds up app.flow, and drops what is old. True when it was this caller.
create function app.sample_pools() returns boolean language plpgsql as $$
declare
  v_at timestamptz := date_bin('10 seconds', app.now(), 'epoch');
begin
  if not pg_try_advisory_xact_lock(72, 7) then return false; end if;
  if exists (select from app.pool_sample s where s.at = v_at) then return false; end if;
  insert into app.pool_sample (account, at, slots, used, waiting, longest_ms, p95_ms)
  select a.key, v_at, a.slots, coalesce(sum(l.slots) filter (where l.granted_at is not null), 0),
         count(*) filter (where l.granted_at is null),
         extract(epoch from app.now() - min(l.requested_at) filter (where l.granted_at is null)) * 1000,
         extract(epoch from app.now()
           - percentile_disc(0.05) within group (order by l.requested_at) filter (where l.granted_at is null)) * 1000
  from app.lease l join app.account a on a.key = l.account
  where l.account like 'pool:%'
  group by a.key, a.slots;
  with ended as (
    delete from app.ended_lease e returning e.*
  )
  insert into app.flow as f (account, class, at, asked, granted)
  select e.account, e.class, date_trunc('minute', t.at), sum(t.asked), sum(t.granted)
  from ended e cross join lateral (values (e.requested_at, 1, 0), (e.granted_at, 0, 1)) as t(at, asked, granted)
  where t.at is not null
  group by 1, 2, 3
  on conflict on constraint flow_pkey do update set asked = f.asked + excluded.asked, granted = f.granted + excluded.granted;
  delete from app.flow f where f.at < app.now() - interval '7 days';
  delete from app.pool_sample s where s.at < app.now() - interval '7 days'
    or (s.at < app.now() - interval '2 hours' and s.at > app.now() - interval '3 hours' and date_trunc('minute', s.at) <> s.at);
  return true;
end $$;

-- Moves what a run waits with, its place and its tries, and all that it asks for from now on; what has its slots keeps
-- them. Answers how many requests moved, or null when the run is over.
create function app.set_run_priority(p_run bigint, p_priority integer, p_who text) returns integer language plpgsql as $$
declare
  v_run app.dag_run;
  v_moved integer;
begin
  -- Waiting requests stand still under a pass, and none is asked for meanwhile.
  perform pg_advisory_xact_lock(72, 2);
  select * into v_run from app.dag_run r where r.run = p_run and r.state in ('queued', 'running') for update;
  if not found then return null; end if;
  update app.dag_run r set priority = p_priority where r.run = p_run;
  update app.lease l set priority = app.with_priority(l.priority - v_run.priority::bigint, p_priority)
  where l.run = p_run and l.granted_at is null and v_run.priority <> p_priority;
  get diagnostics v_moved = row_count;
  insert into app.audit (who, action, dag_id, run_id, detail)
  values (p_who, 'set_priority', v_run.dag_id, v_run.run_id, jsonb_build_object('priority', p_priority, 'before', v_run.priority));
  return v_moved;
end $$;
