-- What people are to be told of, each once: written with the decision that it follows from, delivered by any worker.
create table app.alert (
  run        bigint not null,
  task_id    text not null,
  map_index  integer not null default -1,
  try        integer not null,
  kind       text not null,                        -- wait_timeout; queued_too_long, of a run as a whole: its task_id is empty
  message    text not null,
  at         timestamptz not null default app.now(),
  next_at    timestamptz not null default app.now(),
  attempts   integer not null default 0,
  error      text,                                 -- of the last attempt that failed
  sent_at    timestamptz,                          -- null: not yet
  given_up   boolean not null default false,       -- nobody took it for a day, or there is nobody to tell
  primary key (run, task_id, map_index, try, kind)
);
create index alert_due on app.alert (next_at) where sent_at is null and not given_up;
create index alert_at on app.alert (at desc);

-- Alerts that are due, each taken for a while; who takes them and dies has lost nothing.
create function app.due_alerts(p_limit integer, p_hold_ms double precision)
returns table (run bigint, task_id text, map_index integer, try integer, kind text, message text, at timestamptz, attempts integer,
  dag_id text, run_id text, owner text) language plpgsql as $$
begin
  return query
  with taken as (
    select a.run, a.task_id, a.map_index, a.try, a.kind from app.alert a
    where a.sent_at is null and not a.given_up and a.next_at <= app.now()
    order by a.next_at limit p_limit for update skip locked
  ), held as (
    update app.alert a set next_at = app.now() + make_interval(secs => p_hold_ms / 1000), attempts = a.attempts + 1
    from taken t
    where a.run = t.run and a.task_id = t.task_id and a.map_index = t.map_index and a.try = t.try and a.kind = t.kind
    returning a.*
  )
  select h.run, h.task_id, h.map_index, h.try, h.kind, h.message, h.at, h.attempts, r.dag_id, r.run_id, coalesce(d.owner, '')
  from held h join app.dag_run r on r.run = h.run left join app.dag d on d.dag_id = r.dag_id;
end $$;
