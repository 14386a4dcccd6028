-- The schema as all migrations leave it. Made by `npm run schema`; nothing runs it, a change of the schema shows here.
-- Left out: the monthly partitions that app.ensure_partitions() makes, and the comments, which are in db/migrations/.

create sequence app.run_counter as bigint;

create table app.account (
  key text not null,
  slots integer not null,
  description text not null default ''::text,
  owed integer[] not null default '{0,0}'::integer[],
  cohort text,
  most integer,
  core_hours double precision,
  exhausted_until timestamp with time zone,
  constraint account_pkey PRIMARY KEY (key),
  constraint account_slots_check CHECK ((slots >= 0))
);

create table app.alert (
  run bigint not null,
  task_id text not null,
  map_index integer not null default '-1'::integer,
  try integer not null,
  kind text not null,
  message text not null,
  at timestamp with time zone not null default app.now(),
  next_at timestamp with time zone not null default app.now(),
  attempts integer not null default 0,
  error text,
  sent_at timestamp with time zone,
  given_up boolean not null default false,
  constraint alert_pkey PRIMARY KEY (run, task_id, map_index, try, kind)
);
CREATE INDEX alert_at ON app.alert USING btree (at DESC);
CREATE INDEX alert_due ON app.alert USING btree (next_at) WHERE ((sent_at IS NULL) AND (NOT given_up));

create table app.audit (
  id bigint generated always as identity not null,
  at timestamp with time zone not null default app.now(),
  who text not null,
  action text not null,
  dag_id text,
  run_id text,
  detail jsonb not null default '{}'::jsonb,
  constraint audit_pkey PRIMARY KEY (id)
);
CREATE INDEX audit_at ON app.audit USING btree (at DESC);

create table app.bundle (
  hash text not null,
  code text not null,
  source_map text,
  sources_at timestamp with time zone not null default app.now(),
  created_at timestamp with time zone not null default app.now(),
  constraint bundle_pkey PRIMARY KEY (hash)
);

create table app.cell (
  run bigint not null,
  task_id text not null,
  map_index integer not null default '-1'::integer,
  state text not null,
  try integer not null default 0,
  phase smallint not null default 0,
  seq integer not null default 0,
  queued_at timestamp with time zone,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  label text,
  constraint cell_pkey PRIMARY KEY (run, task_id, map_index)
) partition by range (run);

create table app.dag (
  dag_id text not null,
  file text not null,
  active boolean not null default true,
  paused boolean not null default false,
  pause_reason text,
  paused_by text,
  version bigint,
  version_before bigint,
  version_since timestamp with time zone,
  timetable jsonb not null,
  timetable_hash text not null,
  start_at timestamp with time zone,
  end_at timestamp with time zone,
  catchup boolean not null default false,
  max_active_runs integer not null,
  cursor_at timestamp with time zone,
  next_due_at timestamp with time zone,
  uncovered jsonb,
  first_seen_at timestamp with time zone not null default app.now(),
  switched_on_at timestamp with time zone not null default app.now(),
  shard integer not null,
  owner text not null default ''::text,
  tags text[] not null default '{}'::text[],
  description text not null default ''::text,
  tenant text,
  class smallint not null default 1,
  updated_at timestamp with time zone not null default app.now(),
  max_failed_runs integer,
  constraint dag_pkey PRIMARY KEY (dag_id)
);
CREATE INDEX dag_due ON app.dag USING btree (next_due_at) WHERE (active AND (NOT paused) AND (next_due_at IS NOT NULL));

create table app.dag_file (
  path text not null,
  checked_at timestamp with time zone not null,
  stored_at timestamp with time zone,
  duration_ms integer not null,
  queue_ms integer,
  content_hash text,
  error jsonb,
  dag_ids text[] not null default '{}'::text[],
  constraint dag_file_pkey PRIMARY KEY (path)
);

create table app.dag_run (
  run bigint not null,
  dag_id text not null,
  run_id text not null,
  run_type text not null,
  logical_at timestamp with time zone not null,
  start_at timestamp with time zone not null,
  end_at timestamp with time zone not null,
  state text not null,
  version bigint not null,
  conf jsonb not null default '{}'::jsonb,
  triggered_by text,
  tenant text,
  class smallint not null default 1,
  priority integer not null default 0,
  queued_at timestamp with time zone not null default app.now(),
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  reason text,
  run_state jsonb,
  constraint dag_run_pkey PRIMARY KEY (run)
) partition by range (run);
CREATE INDEX dag_run_by_date ON ONLY app.dag_run USING btree (dag_id, logical_at DESC, run DESC);
CREATE INDEX dag_run_by_state ON ONLY app.dag_run USING btree (state, run DESC);
CREATE INDEX dag_run_open ON ONLY app.dag_run USING btree (dag_id, state) WHERE (state = ANY (ARRAY['queued'::text, 'running'::text]));

create table app.dag_version (
  version bigint generated always as identity not null,
  dag_id text not null,
  number integer not null,
  hash text not null,
  graph jsonb not null,
  bundle_hash text not null,
  lock_hash text,
  file text not null,
  created_at timestamp with time zone not null default app.now(),
  constraint dag_version_pkey PRIMARY KEY (version),
  constraint dag_version_bundle_hash_fkey FOREIGN KEY (bundle_hash) REFERENCES app.bundle(hash),
  constraint dag_version_dag_id_fkey FOREIGN KEY (dag_id) REFERENCES app.dag(dag_id),
  constraint dag_version_dag_id_number_key UNIQUE (dag_id, number)
);
CREATE INDEX dag_version_hash ON app.dag_version USING btree (dag_id, hash);

create table app.dial (
  id bigint generated always as identity not null,
  at timestamp with time zone not null default app.now(),
  who text not null,
  reason text not null,
  tries integer,
  below_class smallint,
  below_priority integer,
  constraint dial_pkey PRIMARY KEY (id),
  constraint dial_tries_check CHECK ((tries >= 0))
);

create table app.ended_lease (
  account text not null,
  class smallint not null,
  requested_at timestamp with time zone not null,
  granted_at timestamp with time zone
);

create table app.flow (
  account text not null,
  class smallint not null,
  at timestamp with time zone not null,
  asked integer not null,
  granted integer not null,
  constraint flow_pkey PRIMARY KEY (account, at, class)
);
CREATE INDEX flow_at ON app.flow USING btree (at);

create table app.idempotency (
  key text not null,
  at timestamp with time zone not null default app.now(),
  answer jsonb not null,
  constraint idempotency_pkey PRIMARY KEY (key)
);

create table app.lease (
  run bigint not null,
  task_id text not null,
  map_index integer not null default '-1'::integer,
  try integer not null,
  wait integer not null default 0,
  account text not null,
  slots integer not null,
  limits text[] not null default '{}'::text[],
  class smallint not null default 1,
  cores real not null default 1,
  priority integer not null default 1,
  seq bigint generated always as identity not null,
  requested_at timestamp with time zone not null default app.now(),
  granted_at timestamp with time zone,
  told_at timestamp with time zone,
  known boolean not null default false,
  after text[],
  tell_after timestamp with time zone,
  reason text,
  reason_since timestamp with time zone,
  held boolean not null default false,
  preempted_at timestamp with time zone,
  constraint lease_pkey PRIMARY KEY (run, task_id, map_index, try),
  constraint lease_slots_check CHECK ((slots >= 0))
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);
CREATE INDEX lease_limits_used ON app.lease USING btree (limits) INCLUDE (slots) WHERE ((granted_at IS NOT NULL) AND (limits <> '{}'::text[]));
CREATE INDEX lease_unexplained ON app.lease USING btree (account) WHERE ((granted_at IS NULL) AND (NOT held) AND (reason IS NULL));
CREATE INDEX lease_untold ON app.lease USING btree (tell_after) WHERE ((granted_at IS NOT NULL) AND (NOT known));
CREATE INDEX lease_used ON app.lease USING btree (account) INCLUDE (slots) WHERE (granted_at IS NOT NULL);
CREATE INDEX lease_waiting ON app.lease USING btree (account, limits, class, priority DESC, seq) WHERE ((granted_at IS NULL) AND (NOT held));

create table app.limits (
  id bigint generated always as identity not null,
  at timestamp with time zone not null default app.now(),
  who text not null,
  spec jsonb not null,
  constraint limits_pkey PRIMARY KEY (id)
);

create table app.pool_sample (
  account text not null,
  at timestamp with time zone not null,
  slots integer not null,
  used integer not null,
  waiting integer not null,
  longest_ms double precision,
  p95_ms double precision,
  constraint pool_sample_pkey PRIMARY KEY (account, at)
);
CREATE INDEX pool_sample_at ON app.pool_sample USING btree (at);

create table app.run_key (
  dag_id text not null,
  logical_at timestamp with time zone not null,
  fork integer not null default 0,
  run bigint not null,
  request text,
  constraint run_key_pkey PRIMARY KEY (dag_id, logical_at, fork)
);

create table app.schema_migration (
  number integer not null,
  name text not null,
  at timestamp with time zone not null default now(),
  hash text,
  constraint schema_migration_pkey PRIMARY KEY (number)
);

create table app.secret (
  name text not null,
  value text not null,
  constraint secret_pkey PRIMARY KEY (name)
);

create table app.spent (
  tenant text not null,
  at timestamp with time zone not null default app.now(),
  core_ms double precision not null
);
CREATE INDEX spent_at ON app.spent USING btree (tenant, at);

create table app.stop (
  run bigint not null,
  task_id text not null,
  map_index integer not null,
  try integer not null,
  at timestamp with time zone not null default app.now(),
  give_back text,
  constraint stop_pkey PRIMARY KEY (run, task_id, map_index, try)
);

create table app.task_event (
  run bigint not null,
  seq integer not null,
  task_id text not null,
  map_index integer not null default '-1'::integer,
  try integer not null,
  state text not null,
  at timestamp with time zone not null default app.now(),
  detail jsonb,
  constraint task_event_pkey PRIMARY KEY (run, seq)
) partition by range (run);

create table app.task_try (
  run bigint not null,
  task_id text not null,
  map_index integer not null default '-1'::integer,
  try integer not null,
  state text not null,
  worker text,
  queued_at timestamp with time zone,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  error jsonb,
  output json,
  stored jsonb,
  constraint task_try_pkey PRIMARY KEY (run, task_id, map_index, try)
) partition by range (run);

create table app.trigger_hit (
  key text not null,
  at timestamp with time zone not null
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);
CREATE INDEX trigger_hit_at ON app.trigger_hit USING btree (key, at DESC);

create table app.wait (
  run bigint not null,
  task_id text not null,
  map_index integer not null default '-1'::integer,
  try integer not null,
  wait integer not null default 1,
  kind text not null,
  queue text not null default 'default'::text,
  resumes boolean not null default false,
  spec jsonb not null default '{}'::jsonb,
  state json,
  every_ms bigint,
  next_at timestamp with time zone,
  expires_at timestamp with time zone,
  try_expires_at timestamp with time zone,
  pokes integer not null default 0,
  poked_at timestamp with time zone,
  claimed_by text,
  claimed_until timestamp with time zone,
  begun_at timestamp with time zone,
  ended_at timestamp with time zone,
  ended_as text,
  ended_by text,
  payload json,
  detail jsonb,
  tell_after timestamp with time zone,
  known boolean not null default false,
  constraint wait_pkey PRIMARY KEY (run, task_id, map_index, try, wait)
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0, fillfactor=80);
CREATE INDEX wait_expires ON app.wait USING btree (LEAST(expires_at, try_expires_at)) WHERE ((ended_at IS NULL) AND (begun_at IS NOT NULL) AND ((expires_at IS NOT NULL) OR (try_expires_at IS NOT NULL)));
CREATE INDEX wait_next ON app.wait USING btree (next_at) WHERE ((ended_at IS NULL) AND (begun_at IS NOT NULL) AND (next_at IS NOT NULL));
CREATE INDEX wait_open ON app.wait USING btree (run, task_id) WHERE ((ended_at IS NULL) AND (begun_at IS NOT NULL));
CREATE INDEX wait_untold ON app.wait USING btree (tell_after) WHERE ((ended_at IS NOT NULL) AND (begun_at IS NOT NULL) AND (NOT known));

create table app.waited (
  run bigint not null,
  task_id text not null,
  map_index integer not null default '-1'::integer,
  try integer not null,
  reason text not null,
  since timestamp with time zone not null,
  until timestamp with time zone not null,
  constraint waited_pkey PRIMARY KEY (run, task_id, map_index, try, since)
) partition by range (run);

create table app.worker (
  queue text not null,
  worker text not null,
  tries integer not null,
  max_tries integer not null,
  seen_at timestamp with time zone not null default app.now(),
  constraint worker_pkey PRIMARY KEY (queue, worker)
);

CREATE OR REPLACE FUNCTION app.advance(p_runs bigint[], p_records jsonb, p_requests jsonb, p_waits jsonb)
 RETURNS TABLE(undecided boolean, grants jsonb, woken boolean)
 LANGUAGE plpgsql
AS $function$
declare
  v_undecided boolean := false;
  v_woken boolean := false;
begin
  if jsonb_array_length(p_requests) > 0 then
    perform app.share_allocator();
  end if;
  perform app.settle(p_records);
  if jsonb_array_length(p_waits) > 0 then
    v_woken := app.begin_waits(p_waits);
  end if;

  if jsonb_array_length(p_requests) > 0 then
    insert into app.cell as c (run, task_id, map_index, state, try, phase, queued_at)
    select distinct on (r.run, r.task_id, r.map_index) r.run, r.task_id, r.map_index, 'queued', r.try, 0, app.now()
    from jsonb_to_recordset(p_requests) as r(run bigint, task_id text, map_index integer, try integer, wait integer)
    -- One that goes on behind a wait: not by a repeat that comes late, when it waits again.
    where coalesce(r.wait, 0) = 0 or r.wait = (
      select max(w.wait) from app.wait w
      where w.run = r.run and w.task_id = r.task_id and w.map_index = r.map_index and w.try = r.try and w.begun_at is not null)
    order by r.run, r.task_id, r.map_index, r.try desc
    on conflict on constraint cell_pkey do update
      set state = 'queued', try = excluded.try, phase = 0, queued_at = excluded.queued_at, ended_at = null,
          started_at = case when excluded.try = c.try then c.started_at end
      where excluded.try > c.try
        or (excluded.try = c.try and c.phase < 0 and exists (
          select from jsonb_to_recordset(p_requests) as q(run bigint, task_id text, map_index integer, try integer, wait integer)
          where q.run = c.run and q.task_id = c.task_id and q.map_index = c.map_index and q.try = c.try and q.wait > 0));
    -- One that goes on after its wait: its run knows of that end.
    update app.wait as w set known = true
    from jsonb_to_recordset(p_requests) as r(run bigint, task_id text, map_index integer, try integer, wait integer)
    where w.run = r.run and w.task_id = r.task_id and w.map_index = r.map_index and w.try = r.try and w.wait <= r.wait
      and w.ended_at is not null and not w.known;

    select a.undecided into v_undecided from app.ask(p_requests) a;
  end if;

  return query
  with asked as (
    select r.run, r.task_id, r.map_index, r.try
    from jsonb_to_recordset(p_requests) as r(run bigint, task_id text, map_index integer, try integer)
  ), told as (
    -- The answer may be lost (a killed worker, a slow one): unless the try has begun by then, the outbox tells again.
    update app.lease as l set told_at = app.now(), tell_after = app.now() + interval '5 seconds'
    where l.run = any (p_runs) and l.task_id <> '' and l.granted_at is not null and l.told_at is null
    returning l.run, l.task_id, l.map_index, l.try, l.wait
  ), all_grants as (
    select t.run, t.task_id, t.map_index, t.try, t.wait from told t
    union
    select l.run, l.task_id, l.map_index, l.try, l.wait from app.lease l join asked a using (run, task_id, map_index, try)
    where l.granted_at is not null
  )
  select v_undecided, coalesce((select jsonb_agg(jsonb_build_array(g.run, g.task_id, g.map_index, g.try, g.wait)) from all_grants g), '[]'), v_woken;
end $function$;

CREATE OR REPLACE FUNCTION app.ask(p_requests jsonb, OUT at_once boolean, OUT undecided boolean)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  v_requests jsonb := p_requests;
  v_accounts text[];
  v_limits text[];
begin
  select array_agg(distinct r.account) into v_accounts from jsonb_to_recordset(p_requests) as r(account text);
  -- The accounts beside pools: usually there are none.
  select array_agg(distinct k.key) into v_limits
  from jsonb_to_recordset(p_requests) as r(run bigint, task_id text, account text)
  join app.dag_run d on d.run = r.run
  join app.account a on a.key in ('tasks:' || d.dag_id, 'task:' || d.dag_id || ':' || r.task_id, 'tenant:' || d.tenant,
                                  case when d.run_type = 'manual' then 'adhoc:' || substr(r.account, 6) end)
  cross join unnest(array[a.key, 'cohort:' || a.cohort]) as k(key)
  where k.key is not null;
  perform app.lock_accounts(74, v_accounts || v_limits);
  select coalesce(bool_and(a.room), false) and not exists (select from app.dial_in_force()) into at_once
  from (
    select q.account,
           acc.slots is not null
             -- By the index: as a join it would read all that waits.
             and (select 1 from app.lease w where w.account = q.account and w.granted_at is null and not w.held limit 1) is null
             and acc.slots >= q.slots
               + coalesce((select sum(l.slots) from app.lease l where l.account = q.account and l.granted_at is not null), 0) as room
    from (
      select r.account, sum(r.slots) as slots
      from jsonb_to_recordset(p_requests) as r(account text, slots integer) group by r.account
    ) q left join app.account acc on acc.key = q.account
  ) a;

  if v_limits is not null then
    select jsonb_agg(r.request || jsonb_build_object('limits', app.limits_of(d, r.request ->> 'task_id', r.request ->> 'account')) order by r.n)
    into v_requests
    from jsonb_array_elements(p_requests) with ordinality as r(request, n)
    join app.dag_run d on d.run = (r.request ->> 'run')::bigint;
    if at_once then
      select bool_and(coalesce(acc.exhausted_until <= app.now(), true)
        and acc.slots >= q.places + coalesce(u.used, 0) + app.limit_kept(q.key)) into at_once
      from (
        select k.key, sum(case when k.key like 'task%' then 1 else r.slots end) as places
        from jsonb_to_recordset(v_requests) as r(limits text[], slots integer) cross join unnest(r.limits) as k(key) group by k.key
      ) q join app.account acc on acc.key = q.key
      left join app.limits_used(v_limits) u on u.key = q.key;
    end if;
  end if;

  -- A repeat that comes late (its worker was thought dead) must not ask for a try that has ended.
  insert into app.lease (run, task_id, map_index, try, wait, account, slots, limits, class, cores, priority, after, granted_at, told_at, tell_after)
  select r.run, r.task_id, r.map_index, r.try, coalesce(r.wait, 0), r.account, r.slots, coalesce(r.limits, '{}'), d.class, coalesce(r.cores, 1),
         app.with_priority(r.priority, d.priority), r.after,
         case when at_once then app.now() end, case when at_once then app.now() end,
         -- The answer may be lost (a killed worker, a slow one): unless the try has begun by then, the outbox tells again.
         case when at_once then app.now() + interval '5 seconds' else app.now() end
  from rows from (jsonb_to_recordset(v_requests)
    as (run bigint, task_id text, map_index integer, try integer, wait integer, account text, slots integer, limits text[], cores real,
        priority integer, after text[]))
    with ordinality as r(run, task_id, map_index, try, wait, account, slots, limits, cores, priority, after, n)
  join app.cell c on c.run = r.run and c.task_id = r.task_id and c.map_index = r.map_index
  -- Nor for a run that is over.
  join app.dag_run d on d.run = r.run and d.state in ('queued', 'running')
  -- Nor for one that waits, by now or once more.
  where c.try = r.try and c.phase between 0 and 1
  order by r.n
  on conflict do nothing;

  undecided := not at_once and (app.grant_free(v_accounts, interval '0')).undecided;
end $function$;

CREATE OR REPLACE FUNCTION app.begin_waits(p jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_ended boolean;
begin
  with asked as (
    select x.*, x.state_text::json as kept
    from jsonb_to_recordset(p) as x(run bigint, task_id text, map_index integer, try integer, wait integer, kind text, queue text,
      resumes boolean, spec jsonb, state_text text, every_ms bigint, next_in_ms double precision, next_at timestamptz,
      expires_in_ms double precision, expires_at timestamptz, try_expires_at timestamptz, ended_as text, detail jsonb,
      label text, same_as text[])
  ), begun as (
    insert into app.wait as w (run, task_id, map_index, try, wait, kind, queue, resumes, spec, state, every_ms, next_at, expires_at,
                               try_expires_at, begun_at, ended_at, ended_as, detail, tell_after)
    select a.run, a.task_id, a.map_index, a.try, a.wait, a.kind, coalesce(a.queue, 'default'), a.resumes, a.spec, a.kept, a.every_ms,
           coalesce(a.next_at, app.now() + make_interval(secs => a.next_in_ms / 1000)),
           coalesce(a.expires_at, app.now() + make_interval(secs => a.expires_in_ms / 1000)), a.try_expires_at, app.now(),
           case when a.ended_as is not null then app.now() end, a.ended_as, a.detail, case when a.ended_as is not null then app.now() end
    from asked a
    -- A repeat that comes late, after its try has ended, begins nothing.
    where not exists (select from app.cell c where c.run = a.run and c.task_id = a.task_id and c.map_index = a.map_index
                      and (c.try > a.try or (c.try = a.try and c.phase = 3)))
    order by a.run, a.task_id, a.map_index, a.try, a.wait
    on conflict on constraint wait_pkey do update
      set begun_at = excluded.begun_at, resumes = excluded.resumes, spec = excluded.spec, state = excluded.state,
          queue = excluded.queue, tell_after = app.now(), known = false,
          -- A run that has forgotten what it did (it was reset) waits again for what it had given up.
          ended_at = case when w.ended_as = 'cancelled' then null else w.ended_at end, ended_as = nullif(w.ended_as, 'cancelled')
      -- Or it is told once more of an end that it has forgotten.
      where w.begun_at is null or w.ended_at is not null
    returning w.run, w.task_id, w.map_index, w.try, w.wait, w.resumes, w.begun_at, w.ended_at, w.payload
  ), tries as (
    -- Of a body that waits it is there; an event that came ahead of it is its output. Try and cell begin at one moment.
    insert into app.task_try as t (run, task_id, map_index, try, state, started_at, output)
    select b.run, b.task_id, b.map_index, b.try, 'deferred', b.begun_at, case when not b.resumes then b.payload end
    from begun b
    on conflict on constraint task_try_pkey do update set output = coalesce(excluded.output, t.output)
      where excluded.output is not null
  ), cells as (
    update app.cell c set started_at = coalesce(c.started_at, b.begun_at),
      label = coalesce(a.label, app.label_of(a.run, a.same_as, a.map_index), c.label)
    from begun b join asked a using (run, task_id, map_index, try, wait)
    where c.run = b.run and c.task_id = b.task_id and c.map_index = b.map_index and c.try = b.try
      and (c.started_at is null or a.label is not null or a.same_as is not null)
  )
  select coalesce(bool_or(b.ended_at is not null), false) into v_ended from begun b;
  return v_ended;
end $function$;

CREATE OR REPLACE FUNCTION app.claim_pokes(p_worker text, p_queues text[], p_limit integer, p_hold_ms double precision)
 RETURNS TABLE(run bigint, task_id text, map_index integer, try integer, wait integer, spec jsonb, expires_at timestamp with time zone, try_expires_at timestamp with time zone, dag_id text, run_id text, run_type text, logical_at timestamp with time zone, start_at timestamp with time zone, end_at timestamp with time zone, version bigint, conf jsonb, inputs jsonb)
 LANGUAGE plpgsql
AS $function$
begin
  return query
  with due as (
    select w.run, w.task_id, w.map_index, w.try, w.wait from app.wait w
    where w.kind = 'sensor' and w.ended_at is null and w.begun_at is not null and w.next_at <= app.now()
      and w.queue = any (p_queues) and (w.claimed_until is null or w.claimed_until < app.now())
    order by w.next_at limit p_limit for update skip locked
  ), claimed as (
    update app.wait w set claimed_by = p_worker, claimed_until = app.now() + make_interval(secs => p_hold_ms / 1000)
    from due d where w.run = d.run and w.task_id = d.task_id and w.map_index = d.map_index and w.try = d.try and w.wait = d.wait
    returning w.run, w.task_id, w.map_index, w.try, w.wait, w.spec, w.expires_at, w.try_expires_at
  )
  select c.run, c.task_id, c.map_index, c.try, c.wait, c.spec, c.expires_at, c.try_expires_at, r.dag_id, r.run_id, r.run_type,
         r.logical_at, r.start_at, r.end_at, r.version, r.conf,
         (select coalesce(jsonb_agg(jsonb_build_array(i.name, i.output::text, i.stored) order by i.n), '[]')
          from app.try_inputs(c.run, coalesce(c.spec -> 'refs', '{}')) i)
  from claimed c join app.dag_run r on r.run = c.run;
end $function$;

CREATE OR REPLACE FUNCTION app.close_runs(p jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_runs bigint[];
  v_accounts text[];
begin
  -- Not one that goes on since: this is a repeat that comes late.
  select array_agg(x.run order by x.run) into v_runs
  from jsonb_to_recordset(p) as x(run bigint, run_state jsonb)
  join app.dag_run r on r.run = x.run
  where r.state not in ('queued', 'running') or r.run_state is null or x.run_state is null
    or (r.run_state ->> 'seq')::integer <= (x.run_state ->> 'seq')::integer;
  perform app.settle((
    select jsonb_agg(d.record) from jsonb_to_recordset(p) as x(records jsonb) cross join lateral jsonb_array_elements(x.records) as d(record)));
  -- What was asked ahead for a task that the run then did not start.
  update app.cell c set state = 'cancelled', phase = 3, ended_at = app.now()
  where c.run = any (v_runs) and c.state in ('none', 'queued', 'running', 'deferred', 'up_for_retry');
  perform from app.dag_run r where r.run = any (v_runs) order by r.run for update;
  update app.dag_run r
  set state = x.state, ended_at = app.now(), run_state = x.run_state, reason = x.reason,
      started_at = coalesce(r.started_at, (select min(t.started_at) from app.task_try t where t.run = r.run), app.now())
  from jsonb_to_recordset(p) as x(run bigint, state text, reason text, run_state jsonb)
  where r.run = x.run and r.run = any (v_runs) and r.state in ('queued', 'running');
  select array_agg(distinct 'runs:' || r.dag_id) into v_accounts from app.dag_run r where r.run = any (v_runs);
  delete from app.lease l where l.run = any (v_runs);
  update app.wait w set known = true, ended_at = coalesce(w.ended_at, app.now()), ended_as = coalesce(w.ended_as, 'cancelled')
  where w.run = any (v_runs) and not w.known;
  return exists (select from app.lease l where l.account = any (v_accounts) and l.granted_at is null and not l.held);
end $function$;

CREATE OR REPLACE FUNCTION app.core_hours_today(p_tenant text)
 RETURNS double precision
 LANGUAGE sql
 STABLE
AS $function$
  select (
    coalesce((select sum(s.core_ms) from app.spent s
              where s.tenant = p_tenant and s.at >= date_trunc('day', app.now() at time zone 'UTC') at time zone 'UTC'), 0)
    + coalesce((select sum(l.cores * extract(epoch from app.now() - greatest(l.granted_at, date_trunc('day', app.now() at time zone 'UTC') at time zone 'UTC')) * 1000)
                from app.lease l where l.granted_at is not null and l.limits <> '{}' and ('tenant:' || p_tenant) = any (l.limits)), 0)
  )::double precision / 3600000
$function$;

CREATE OR REPLACE FUNCTION app.create_runs(p jsonb)
 RETURNS TABLE(dag_id text, run_id text, run bigint, created boolean, own boolean, granted boolean, grants jsonb, undecided boolean, standing jsonb)
 LANGUAGE plpgsql
AS $function$
declare
  r record;
  v_run bigint;
  v_new boolean[] := '{}';
  v_is_own boolean;
  v_own boolean[] := '{}';
  v_runs bigint[] := '{}';
  v_dag_ids text[] := '{}';
  v_run_ids text[] := '{}';
  v_first jsonb[] := '{}';
  v_asked_as bigint[] := '{}';
  v_locked_at timestamptz;
  v_opening jsonb;
  v_at_once boolean;
  v_undecided boolean := false;
begin
  perform app.share_allocator();
  for r in
    select * from rows from (jsonb_to_recordset(p)
      as (dag_id text, run_id text, run_type text, logical_at timestamptz, fork integer, start_at timestamptz,
          end_at timestamptz, version bigint, conf jsonb, who text, request text, first jsonb, tenant text, class smallint))
      with ordinality as x(dag_id, run_id, run_type, logical_at, fork, start_at, end_at, version, conf, who, request, first, tenant, class, n)
    order by x.dag_id, x.logical_at, x.fork, x.n
  loop
    insert into app.run_key as k (dag_id, logical_at, fork, run, request)
    values (r.dag_id, r.logical_at, coalesce(r.fork, 0), app.new_run(), r.request)
    on conflict do nothing
    returning k.run into v_run;
    v_new := v_new || (v_run is not null);
    v_is_own := v_run is not null;
    if v_run is not null then
      insert into app.dag_run (run, dag_id, run_id, run_type, logical_at, start_at, end_at, state, version, conf, triggered_by, tenant, class,
                               queued_at)
      select v_run, r.dag_id, r.run_id, r.run_type, r.logical_at, r.start_at, r.end_at, 'queued', r.version,
             coalesce(r.conf, '{}'), r.who, coalesce(r.tenant, d.tenant),
             -- Backfills are of the lowest class, whatever their DAG's.
             case when r.run_type = 'backfill' then 0 else coalesce(r.class, d.class, 1) end, app.now()
      from (select) o left join app.dag d on d.dag_id = r.dag_id;
      if r.run_type = 'manual' then
        insert into app.audit (who, action, dag_id, run_id) values (r.who, 'trigger', r.dag_id, r.run_id);
      end if;
    else
      select k.run, coalesce(k.request = r.request, false) into v_run, v_is_own from app.run_key k
      where k.dag_id = r.dag_id and k.logical_at = r.logical_at and k.fork = coalesce(r.fork, 0);
    end if;
    v_own := v_own || v_is_own;
    v_runs := v_runs || v_run;
    v_dag_ids := v_dag_ids || r.dag_id;
    v_run_ids := v_run_ids || r.run_id;
    v_first := array_append(v_first, r.first);
    v_asked_as := v_asked_as || r.n;
  end loop;

  perform app.lock_accounts(73, (
    select array_agg(distinct 'runs:' || a.dag_id) from unnest(v_dag_ids, v_new) as a(dag_id, is_new) where a.is_new));
  v_locked_at := app.now();
  with asked as (
    select d.run, 'runs:' || d.dag_id as account, a.n,
           case d.run_type when 'manual' then 10 when 'backfill' then 1 else 5 end as priority
    from unnest(v_runs, v_new) with ordinality as a(run, is_new, n) join app.dag_run d on d.run = a.run
    where a.is_new
  ), room as (
    select q.account, acc.slots - coalesce((select sum(l.slots) from app.lease l where l.account = q.account and l.granted_at is not null), 0) as free
    from (select distinct k.account from asked k) q join app.account acc on acc.key = q.account
    where not exists (select from app.lease w where w.account = q.account and w.granted_at is null and not w.held)
  )
  insert into app.lease (run, task_id, try, account, slots, priority, granted_at, tell_after)
  select k.run, '', 0, k.account, 1, k.priority,
         case when row_number() over (partition by k.account order by k.priority desc, k.n) <= o.free then app.now() end,
         -- The caller starts it; if it dies first, the outbox does.
         app.now() + interval '5 seconds'
  from asked k left join room o on o.account = k.account
  order by k.n;

  -- Others wait already: the order decides, among all.
  perform app.grant_free(w.accounts, interval '5 seconds') from (
    select array_agg(distinct l.account) as accounts
    from unnest(v_runs, v_new) as a(run, is_new) join app.lease l on l.run = a.run and l.task_id = ''
    where a.is_new and l.granted_at is null
  ) w where w.accounts is not null;
  -- Places that went to older runs: nobody here starts those.
  update app.lease l set tell_after = app.now()
  where l.account in (select 'runs:' || a.dag_id from unnest(v_dag_ids, v_new) as a(dag_id, is_new) where a.is_new)
    and l.task_id = '' and l.granted_at >= v_locked_at and l.run <> all (v_runs);

  select jsonb_agg(q.request || jsonb_build_object('run', a.run, 'map_index', -1, 'try', 1) order by a.n) into v_opening
  from unnest(v_runs, v_new) with ordinality as a(run, is_new, n)
  join app.lease l on l.run = a.run and l.task_id = '' and l.granted_at is not null
  cross join lateral jsonb_array_elements(case when jsonb_typeof(v_first[a.n]) = 'array' then v_first[a.n] end) as q(request)
  where a.is_new;
  if v_opening is not null then
    insert into app.cell as c (run, task_id, state, try, phase, queued_at)
    select q.run, q.task_id, 'queued', 1, 0, app.now() from jsonb_to_recordset(v_opening) as q(run bigint, task_id text);
    select a.at_once, a.undecided into v_at_once, v_undecided from app.ask(v_opening) a;
    if not v_at_once then
      update app.lease l set told_at = app.now(), tell_after = app.now() + interval '5 seconds'
      from unnest(v_runs, v_new) as a(run, is_new)
      where a.is_new and l.run = a.run and l.task_id <> '' and l.granted_at is not null;
    end if;
  end if;

  -- A run that the ledger had may be gone from dag_run by retention.
  return query
  select a.dag_id, a.run_id, a.run, a.is_new, a.is_own, o.granted,
         case when a.is_new and o.granted and jsonb_typeof(v_first[a.n]) = 'array' then coalesce(
           (select jsonb_agg(l.task_id) from app.lease l where l.run = a.run and l.task_id <> '' and l.granted_at is not null), '[]') end,
         v_undecided,
         case when a.is_new and o.granted then (select app.standing_of(made) from app.dag_run made where made.run = a.run) end
  from unnest(v_dag_ids, v_run_ids, v_runs, v_new, v_own, v_asked_as) with ordinality as a(dag_id, run_id, run, is_new, is_own, asked_as, n)
  cross join lateral (
    select exists (select from app.lease l where l.run = a.run and l.task_id = '' and l.granted_at is not null) as granted
  ) o
  order by a.asked_as;
end $function$;

CREATE OR REPLACE FUNCTION app.dial_in_force()
 RETURNS SETOF app.dial
 LANGUAGE sql
 STABLE
AS $function$
  select * from (select * from app.dial order by id desc limit 1) d
  where coalesce(d.tries, d.below_class, d.below_priority) is not null
$function$;

CREATE OR REPLACE FUNCTION app.due_alerts(p_limit integer, p_hold_ms double precision)
 RETURNS TABLE(run bigint, task_id text, map_index integer, try integer, kind text, message text, at timestamp with time zone, attempts integer, dag_id text, run_id text, owner text)
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION app.end_event(p_run bigint, p_task text, p_index integer, p_try integer, p_wait integer, p_payload text, p_who text, p_detail jsonb, OUT answer text, OUT at_try integer, OUT at_wait integer)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  c record;
  w record;
begin
  perform from app.dag_run r where r.run = p_run and r.state in ('queued', 'running');
  if not found then
    answer := case when exists (select from app.dag_run r where r.run = p_run) then 'too_late' else 'no_run' end;
  end if;
  select k.state, k.try into c from app.cell k where k.run = p_run and k.task_id = p_task and k.map_index = p_index;
  at_try := coalesce(p_try, case
    when c.state is null then 1
    when c.state in ('deferred', 'running', 'success', 'failed', 'skipped', 'upstream_failed', 'cancelled', 'removed') then greatest(c.try, 1)
    else c.try + 1 end);
  -- Two that come at once take their turn, whether the row is there or not.
  perform pg_advisory_xact_lock(75, hashtext(p_run || ' ' || p_task || ' ' || p_index));
  select x.wait into at_wait from app.wait x
  where x.run = p_run and x.task_id = p_task and x.map_index = p_index and x.try = at_try order by x.wait desc limit 1;
  at_wait := coalesce(p_wait, case when c.state = 'running' and not exists (
    select from app.wait x where x.run = p_run and x.task_id = p_task and x.map_index = p_index and x.try = at_try
      and x.wait = at_wait and x.ended_at is null) then coalesce(at_wait, 0) + 1 else at_wait end, 1);
  select * into w from app.wait x
  where x.run = p_run and x.task_id = p_task and x.map_index = p_index and x.try = at_try and x.wait = at_wait for update;
  if found and w.ended_at is not null then
    answer := case when w.ended_as = 'success' then 'already_ended' else 'too_late' end;
  elsif answer is not null then
    return;
  elsif w.run is not null and least(w.expires_at, w.try_expires_at) <= app.now() then
    answer := 'too_late';
  elsif w.run is not null then
    perform app.end_waits(jsonb_build_array(jsonb_build_object('run', p_run, 'task_id', p_task, 'map_index', p_index, 'try', at_try,
      'wait', at_wait, 'ended_as', 'success', 'ended_by', p_who, 'payload', p_payload, 'detail', p_detail)));
    answer := 'ended';
  elsif c.try > at_try or (c.try = at_try and c.state = 'up_for_retry')
    -- It may have been skipped before any try.
    or c.state in ('success', 'failed', 'skipped', 'upstream_failed', 'cancelled', 'removed') then
    answer := 'too_late';
  else
    insert into app.wait (run, task_id, map_index, try, wait, kind, ended_at, ended_as, ended_by, payload, detail)
    values (p_run, p_task, p_index, at_try, at_wait, 'event', app.now(), 'success', p_who, p_payload::json, p_detail)
    on conflict do nothing;
    if found then
      answer := 'ended';
    else
      -- It has begun in this moment.
      select e.answer, e.at_try, e.at_wait into answer, at_try, at_wait
      from app.end_event(p_run, p_task, p_index, at_try, at_wait, p_payload, p_who, p_detail) e;
    end if;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION app.end_gone_run(p_run bigint, p_reason text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  -- How far it came after it was opened again, nobody knows any more.
  update app.dag_run r set state = 'failed', ended_at = app.now(), reason = p_reason, run_state = null
  where r.run = p_run and r.state in ('queued', 'running');
  if not found then
    delete from app.lease l where l.run = p_run;
    return false;
  end if;
  update app.task_try t set state = 'cancelled', ended_at = app.now(),
         error = jsonb_build_object('code', 'run_gone', 'message', p_reason)
  where t.run = p_run and t.state in ('running', 'deferred');
  -- Said in the run's stead, behind its own last word: what it still sends is older, and changes nothing.
  with open as (
    update app.cell c set state = 'cancelled', phase = 3, ended_at = app.now(), seq = n.seq
    from (
      select o.task_id, o.map_index, last.seq + row_number() over (order by o.task_id, o.map_index) as seq
      from app.cell o cross join (
        select greatest(
          coalesce((select max(e.seq) from app.task_event e where e.run = p_run), 0),
          coalesce((select max(k.seq) from app.cell k where k.run = p_run), 0)) as seq) last
      where o.run = p_run and o.state in ('none', 'queued', 'running', 'deferred', 'up_for_retry')
    ) n
    where c.run = p_run and c.task_id = n.task_id and c.map_index = n.map_index
    returning c.run, c.seq, c.task_id, c.map_index, c.try
  )
  insert into app.task_event (run, seq, task_id, map_index, try, state, detail)
  select o.run, o.seq, o.task_id, o.map_index, o.try, 'cancelled', jsonb_build_object('reason', p_reason) from open o;
  delete from app.lease l where l.run = p_run;
  update app.wait w set known = true, ended_at = coalesce(w.ended_at, app.now()), ended_as = coalesce(w.ended_as, 'cancelled')
  where w.run = p_run and not w.known;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION app.end_waits(p jsonb)
 RETURNS TABLE(run bigint, task_id text, map_index integer, try integer, wait integer)
 LANGUAGE plpgsql
AS $function$
begin
  return query
  with asked as (
    select x.run, x.task_id, x.map_index, x.try, x.wait, x.ended_as, x.ended_by, x.payload::json as payload, x.detail
    from jsonb_to_recordset(p) as x(run bigint, task_id text, map_index integer, try integer, wait integer, ended_as text,
      ended_by text, payload text, detail jsonb)
  ), ended as (
    update app.wait as w set ended_at = app.now(), ended_as = a.ended_as, ended_by = a.ended_by, payload = a.payload,
           detail = a.detail, tell_after = app.now(), claimed_by = null, claimed_until = null
    from asked a
    where w.run = a.run and w.task_id = a.task_id and w.map_index = a.map_index and w.try = a.try and w.wait = a.wait
      and w.ended_at is null
    returning w.run, w.task_id, w.map_index, w.try, w.wait, w.resumes, w.payload
  ), outputs as (
    update app.task_try as t set output = e.payload from ended e
    where not e.resumes and e.payload is not null
      and t.run = e.run and t.task_id = e.task_id and t.map_index = e.map_index and t.try = e.try
  )
  select e.run, e.task_id, e.map_index, e.try, e.wait from ended e;
end $function$;

CREATE OR REPLACE FUNCTION app.ensure_partitions(months integer DEFAULT 2)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  t text;
  m timestamptz;
  lo bigint;
  hi bigint;
  name text;
begin
  perform pg_advisory_xact_lock(72, 1);
  foreach t in array array['dag_run', 'cell', 'task_try', 'task_event', 'waited'] loop
    for m in select generate_series(date_trunc('month', clock_timestamp() at time zone 'UTC') - interval '1 month',
                                    date_trunc('month', clock_timestamp() at time zone 'UTC') + make_interval(months => months),
                                    interval '1 month') at time zone 'UTC' loop
      lo := (extract(epoch from m) * 1000)::bigint * 1000;
      hi := (extract(epoch from (m at time zone 'UTC' + interval '1 month') at time zone 'UTC') * 1000)::bigint * 1000;
      name := t || '_' || to_char(m at time zone 'UTC', 'YYYY_MM');
      if to_regclass('app.' || name) is null then
        execute format('create table app.%I partition of app.%I for values from (%s) to (%s)', name, t, lo, hi);
        if t = 'cell' then
          execute format('alter table app.%I set (fillfactor = 80)', name);
        end if;
      end if;
    end loop;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION app.grant_free(p_accounts text[], p_tell_after interval, OUT granted integer, OUT undecided boolean)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
begin
  with account as (
    select a.key, a.slots, a.slots - coalesce((select sum(l.slots) from app.lease l where l.account = a.key and l.granted_at is not null), 0) as free
    from app.account a where a.key = any (p_accounts)
      -- Places of runs are no concern of the dial.
      and (a.key like 'runs:%' or not exists (select from app.dial_in_force()))
      and not exists (select from app.lease w
        where w.account = a.key and w.granted_at is null and not w.held and (w.limits > '{}' or (w.limits = '{}' and w.class <> 1)))
  ), waiting as (
    select l.run, l.task_id, l.map_index, l.try, l.account, a.free,
           sum(l.slots) over (partition by l.account order by l.priority desc, l.seq) as upto
    from account a cross join lateral (
      select * from app.lease w
      where w.account = a.key and w.limits = '{}' and w.class = 1 and w.granted_at is null and not w.held and w.slots <= a.slots
      order by w.priority desc, w.seq limit greatest(a.free, 0) + 1
    ) l
  ), picked as (
    -- One that is locked is being deleted: who does that looks for whom its slots are.
    select l.run, l.task_id, l.map_index, l.try from app.lease l join waiting w using (run, task_id, map_index, try)
    where l.granted_at is null and w.upto <= w.free for update of l skip locked
  )
  update app.lease as l
  set granted_at = app.now(), reason = null, reason_since = null,
      tell_after = app.now() + p_tell_after
  from picked w
  where l.run = w.run and l.task_id = w.task_id and l.map_index = w.map_index and l.try = w.try and l.granted_at is null;
  get diagnostics granted = row_count;

  select exists (select from app.lease l
                 where l.account = any (p_accounts) and l.granted_at is null and not l.held and l.reason is null) into undecided;
end $function$;

CREATE OR REPLACE FUNCTION app.input_parts(p_run bigint, p_ref jsonb)
 RETURNS TABLE(output json, stored jsonb)
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_from integer := coalesce((p_ref #>> '{pick,from}')::integer, 0);
  v_count integer := (p_ref #>> '{pick,count}')::integer;
begin
  if p_ref ? 'all' then
    return query
    select t.output, t.stored
    from app.cell c left join lateral (
      select x.output, x.stored from app.task_try x
      where x.run = c.run and x.task_id = c.task_id and x.map_index = c.map_index and x.state = 'success'
      order by x.try desc limit 1
    ) t on true
    where c.run = p_run and c.task_id = p_ref ->> 'task' and c.map_index >= 0 and c.state = 'success'
    order by c.map_index
    offset v_from limit case when p_ref ? 'pick' then coalesce(v_count, 1) end;
    return;
  end if;
  return query
  select case
           when not p_ref ? 'pick' or t.stored is not null then t.output
           when v_count is null then t.output -> v_from
           else (select json_agg(e.value order by e.n) from json_array_elements(t.output) with ordinality as e(value, n)
                 where e.n > v_from and e.n <= v_from + v_count)
         end,
         t.stored
  from app.task_try t
  where t.run = p_run and t.task_id = p_ref ->> 'task' and t.map_index = coalesce((p_ref ->> 'index')::integer, -1)
    and t.state = 'success'
  order by t.try desc limit 1;
end $function$;

CREATE OR REPLACE FUNCTION app.keep_flow()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into app.ended_lease (account, class, requested_at, granted_at)
  select g.account, g.class, g.requested_at, g.granted_at from gone g where g.task_id <> '';
  return null;
end $function$;

CREATE OR REPLACE FUNCTION app.keep_pokes(p jsonb, p_worker text, p_hold_ms double precision)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  v_lost jsonb;
begin
  with asked as (
    select * from jsonb_to_recordset(p) as x(run bigint, task_id text, map_index integer, try integer, wait integer)
  ), kept as (
    update app.wait w set claimed_until = app.now() + make_interval(secs => p_hold_ms / 1000)
    from asked a
    where w.run = a.run and w.task_id = a.task_id and w.map_index = a.map_index and w.try = a.try and w.wait = a.wait
      and w.claimed_by = p_worker and w.ended_at is null
    returning w.run, w.task_id, w.map_index, w.try, w.wait
  )
  select coalesce(jsonb_agg(jsonb_build_array(a.run, a.task_id, a.map_index, a.try, a.wait)), '[]') into v_lost
  from asked a left join kept k using (run, task_id, map_index, try, wait) where k.run is null;
  return v_lost;
end $function$;

CREATE OR REPLACE FUNCTION app.keep_reason()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into app.waited (run, task_id, map_index, try, reason, since, until)
  values (old.run, old.task_id, old.map_index, old.try, old.reason, old.reason_since, app.now())
  on conflict do nothing;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION app.keep_spent()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION app.label_of(p_run bigint, p_tasks text[], p_index integer)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select c.label from app.cell c
  where c.run = p_run and c.task_id = any (p_tasks) and c.map_index = p_index and c.label is not null limit 1
$function$;

CREATE OR REPLACE FUNCTION app.limit_kept(p_key text)
 RETURNS integer
 LANGUAGE sql
 STABLE
AS $function$
  with recursive lane as (
    (select account, limits, class, slots from app.lease where granted_at is null and not held
     order by account, limits, class, priority desc, seq limit 1)
    union all
    select n.account, n.limits, n.class, n.slots from lane w cross join lateral (
      select l.account, l.limits, l.class, l.slots from app.lease l
      where l.granted_at is null and not l.held and (l.account, l.limits, l.class) > (w.account, w.limits, w.class)
      order by l.account, l.limits, l.class, l.priority desc, l.seq limit 1) n
  )
  select coalesce(sum(case when p_key like 'task%' then 1 else slots end), 0)::integer from lane where p_key = any (limits)
$function$;

CREATE OR REPLACE FUNCTION app.limits_of(p_run app.dag_run, p_task text, p_account text)
 RETURNS text[]
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(array_agg(k.key order by k.key), '{}') from (
    select a.key from app.account a
    where a.key in ('tasks:' || p_run.dag_id, 'task:' || p_run.dag_id || ':' || p_task, 'tenant:' || p_run.tenant,
                    case when p_run.run_type = 'manual' then 'adhoc:' || substr(p_account, 6) end)
    union all
    select 'cohort:' || t.cohort from app.account t
    where t.key = 'tenant:' || p_run.tenant and t.cohort is not null
  ) k
$function$;

CREATE OR REPLACE FUNCTION app.limits_used(p_keys text[])
 RETURNS TABLE(key text, used integer)
 LANGUAGE sql
 STABLE
AS $function$
  select k.key, sum(case when k.key like 'task%' then l.tries else l.slots end)::integer
  from (
    select limits, count(*) as tries, sum(slots) as slots from app.lease
    where granted_at is not null and limits <> '{}' and limits && p_keys group by limits
  ) l cross join unnest(l.limits) as k(key)
  where k.key = any (p_keys) group by k.key
$function$;

CREATE OR REPLACE FUNCTION app.lock_accounts(p_class integer, p_accounts text[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock(p_class, k.key)
  from (select distinct hashtext(a) as key from unnest(p_accounts) as a order by 1) k;
end $function$;

CREATE OR REPLACE FUNCTION app.look_at_waits(p_limit integer)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_ended boolean;
  v_found boolean;
begin
  with due as (
    select w.run, w.task_id, w.map_index, w.try, w.wait from app.wait w
    where w.ended_at is null and w.begun_at is not null and w.next_at <= app.now() and w.kind = 'time'
      and (least(w.expires_at, w.try_expires_at) is null or w.next_at <= least(w.expires_at, w.try_expires_at))
    order by w.next_at limit p_limit for update skip locked
  ), ended as (
    update app.wait w set ended_at = app.now(), tell_after = app.now(), ended_as = 'success'
    from due d where w.run = d.run and w.task_id = d.task_id and w.map_index = d.map_index and w.try = d.try and w.wait = d.wait
    returning w.run
  )
  select count(*) > 0 into v_ended from ended;

  with due as (
    select w.run, w.task_id, w.map_index, w.try, w.wait from app.wait w
    where w.ended_at is null and w.begun_at is not null and (w.expires_at is not null or w.try_expires_at is not null)
      and least(w.expires_at, w.try_expires_at) <= app.now()
    order by least(w.expires_at, w.try_expires_at) limit p_limit for update skip locked
  ), ended as (
    update app.wait w
    set ended_at = app.now(), tell_after = app.now(), claimed_by = null, claimed_until = null,
        ended_as = case when w.try_expires_at <= least(w.try_expires_at, w.expires_at) then 'timed_out' else 'expired' end
    from due d where w.run = d.run and w.task_id = d.task_id and w.map_index = d.map_index and w.try = d.try and w.wait = d.wait
    returning w.run
  )
  select count(*) > 0 or v_ended into v_ended from ended;

  with due as (
    select w.run, w.task_id, w.map_index, w.try, w.wait, w.spec from app.wait w
    where w.kind = 'run' and w.ended_at is null and w.begun_at is not null and w.next_at <= app.now()
    order by w.next_at limit p_limit for update skip locked
  ), looked as (
    select d.*, case when d.spec ->> 'task_id' is null then o.state else c.state end as other,
           o.state in ('success', 'failed', 'cancelled') as is_over
    from due d
    left join lateral (
      select r.run, r.state from app.run_key k join app.dag_run r on r.run = k.run
      where k.dag_id = d.spec ->> 'dag_id' and k.logical_at = (d.spec ->> 'logical_at')::timestamptz and k.fork = 0
    ) o on true
    left join lateral (
      -- Of a mapped task: the worst of its instances, once the run is over: those that have not begun have no cell.
      select case when bool_or(x.map_index >= 0) and o.state not in ('success', 'failed', 'cancelled') then null
                  when bool_or(x.state not in ('success', 'skipped', 'failed', 'upstream_failed', 'cancelled')) then null
                  else (array_agg(x.state order by array_position(array['failed', 'upstream_failed', 'cancelled', 'success', 'skipped'], x.state)))[1] end as state
      from app.cell x
      where x.run = o.run and x.task_id = d.spec ->> 'task_id' and x.state <> 'removed'
    ) c on true
  ), seen as (
    update app.wait w
    set pokes = w.pokes + 1, poked_at = app.now(), next_at = app.now() + make_interval(secs => w.every_ms::double precision / 1000),
        ended_at = case when l.ends is not null then app.now() end, ended_as = l.ends,
        tell_after = case when l.ends is not null then app.now() end,
        detail = case when l.ends = 'skipped' then jsonb_build_object('message', format(
                        'task %s of run %s of dag %s was skipped', l.spec ->> 'task_id', l.spec ->> 'run_id', l.spec ->> 'dag_id'))
                      when l.ends = 'failed' then jsonb_build_object('error', jsonb_build_object(
          'code', 'other_failed', 'retryable', true, 'message',
          format('%s is %s', case when l.spec ->> 'task_id' is null then format('run %s of dag %s', l.spec ->> 'run_id', l.spec ->> 'dag_id')
            else format('task %s of run %s of dag %s', l.spec ->> 'task_id', l.spec ->> 'run_id', l.spec ->> 'dag_id') end,
            coalesce(l.other, 'not there: the run is over, and has no such task or never came to it')))) end
    from (
      select k.*, case when k.other in ('success', 'skipped') then k.other
                       when k.other in ('failed', 'cancelled', 'upstream_failed') then 'failed'
                       -- The run is over, and has no such task, or it never began.
                       when k.spec ->> 'task_id' is not null and k.is_over and k.other is null then 'failed' end as ends
      from looked k
    ) l
    where w.run = l.run and w.task_id = l.task_id and w.map_index = l.map_index and w.try = l.try and w.wait = l.wait
    returning w.ended_at
  )
  select count(*) filter (where s.ended_at is not null) > 0 into v_found from seen s;
  return v_ended or v_found;
end $function$;

CREATE OR REPLACE FUNCTION app.new_run()
 RETURNS bigint
 LANGUAGE sql
AS $function$
  select (extract(epoch from clock_timestamp()) * 1000)::bigint * 1000 + nextval('app.run_counter') % 1000
$function$;

CREATE OR REPLACE FUNCTION app.now()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(nullif(current_setting('meridian.now', true), '')::timestamptz, clock_timestamp())
$function$;

CREATE OR REPLACE FUNCTION app.open_run(p_run bigint)
 RETURNS TABLE(dag_id text, run_id text, run_type text, logical_at timestamp with time zone, start_at timestamp with time zone, end_at timestamp with time zone, version bigint, conf jsonb, state text, run_state jsonb)
 LANGUAGE plpgsql
AS $function$
begin
  -- Leases before their run, as when it closes.
  update app.lease l set told_at = app.now(), known = true where l.run = p_run and l.task_id = '' and not l.known;
  update app.dag_run r set state = 'running', started_at = coalesce(r.started_at, app.now()), reason = null
  where r.run = p_run and r.state in ('queued', 'running');
  return query
  select r.dag_id, r.run_id, r.run_type, r.logical_at, r.start_at, r.end_at, r.version, r.conf, r.state, r.run_state
  from app.dag_run r where r.run = p_run;
end $function$;

CREATE OR REPLACE FUNCTION app.poked(p jsonb, p_worker text)
 RETURNS void
 LANGUAGE sql
AS $function$
  update app.wait w
  set pokes = w.pokes + case when x.again then 0 else 1 end, poked_at = app.now(), claimed_by = null, claimed_until = null,
      next_at = app.now() + case when x.again then interval '1 second' else make_interval(secs => w.every_ms::double precision / 1000) end
  from jsonb_to_recordset(p) as x(run bigint, task_id text, map_index integer, try integer, wait integer, again boolean)
  where w.run = x.run and w.task_id = x.task_id and w.map_index = x.map_index and w.try = x.try and w.wait = x.wait
    and w.claimed_by = p_worker and w.ended_at is null
$function$;

CREATE OR REPLACE FUNCTION app.preempt_tries(p jsonb)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION app.quick_pass(OUT granted integer, OUT rest boolean)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  v_accounts text[];
  v_more integer;
  v_undecided boolean;
begin
  granted := 0;
  rest := false;
  perform app.share_allocator();
  with recursive waiting as (
    (select account from app.lease where granted_at is null and not held order by account limit 1)
    union all
    select (select l.account from app.lease l where l.granted_at is null and not l.held and l.account > w.account order by l.account limit 1)
    from waiting w where w.account is not null
  )
  select array_agg(w.account) into v_accounts from waiting w where w.account is not null;
  if v_accounts is null then return; end if;
  -- PostgreSQL keeps some thousands of locks at once: with more accounts a pass decides.
  if cardinality(v_accounts) > 1000 then
    rest := true;
    return;
  end if;
  perform app.lock_accounts(73, array(select a from unnest(v_accounts) as a where a like 'runs:%'));
  perform app.lock_accounts(74, array(select a from unnest(v_accounts) as a where a not like 'runs:%'));
  select g.granted, g.undecided into granted, rest
  from app.grant_free(array(select a from unnest(v_accounts) as a where a like 'runs:%'), interval '0') g;
  -- A run's own call usually takes its grants within this time; then the outbox tells it.
  select g.granted, g.undecided into v_more, v_undecided
  from app.grant_free(array(select a from unnest(v_accounts) as a where a not like 'runs:%'), interval '20 milliseconds') g;
  granted := granted + v_more;
  rest := rest or v_undecided or exists (select from app.dial_in_force()) or exists (
    select from unnest(v_accounts) as k(key)
    where exists (select from app.lease w where w.account = k.key and w.granted_at is null and not w.held and w.limits > '{}')
       or exists (select from app.lease w where w.account = k.key and w.limits = '{}' and w.class <> 1 and w.granted_at is null and not w.held));
end $function$;

CREATE OR REPLACE FUNCTION app.recent_use(p_tenant text, p_half_life_ms double precision)
 RETURNS double precision
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(sum(s.core_ms * power(0.5, extract(epoch from app.now() - s.at) * 1000 / p_half_life_ms)), 0) / (p_half_life_ms / ln(2))
  from app.spent s where s.tenant = p_tenant and s.at > app.now() - make_interval(secs => 10 * p_half_life_ms / 1000)
$function$;

CREATE OR REPLACE FUNCTION app.record_tries(p_started jsonb, p_ended jsonb, p_next jsonb, p_labels jsonb DEFAULT '[]'::jsonb)
 RETURNS TABLE(inputs jsonb, grants jsonb, waiting boolean)
 LANGUAGE plpgsql
AS $function$
declare
  v_freed text[];
  v_freed_limits text[];
  v_requests jsonb := '[]';
  v_at_once boolean;
  v_undecided boolean := false;
begin
  -- The run's own word repeats the records, so their commit need not wait for the disk; a grant must.
  if jsonb_array_length(p_next) = 0 then
    perform set_config('synchronous_commit', 'off', true);
  else
    perform app.share_allocator();
  end if;

  insert into app.task_try as t (run, task_id, map_index, try, state, worker, started_at)
  select s.run, s.task_id, s.map_index, s.try, 'running', s.worker, s.at
  from jsonb_to_recordset(p_started) as s(run bigint, task_id text, map_index integer, try integer, worker text, at timestamptz)
  on conflict on constraint task_try_pkey do update set state = 'running', worker = excluded.worker
    where t.state = 'deferred';

  -- Two tries of one task may come together, when the database was away for long: the later one counts.
  insert into app.cell as c (run, task_id, map_index, state, try, phase, started_at)
  select distinct on (s.run, s.task_id, s.map_index) s.run, s.task_id, s.map_index, 'running', s.try, 1, s.at
  from jsonb_to_recordset(p_started) as s(run bigint, task_id text, map_index integer, try integer, at timestamptz)
  order by s.run, s.task_id, s.map_index, s.try desc
  on conflict on constraint cell_pkey do update
    set state = excluded.state, try = excluded.try, phase = 1, ended_at = null,
        -- One that goes on after a wait began before.
        started_at = coalesce(case when c.try = excluded.try then c.started_at end, excluded.started_at)
    where (excluded.try, excluded.phase) > (c.try, c.phase);

  update app.task_try as t set state = e.state, ended_at = case when e.state <> 'deferred' then e.at end, error = e.error, output = coalesce(e.output::json, t.output)
  from jsonb_to_recordset(p_ended) as e(run bigint, task_id text, map_index integer, try integer, state text, at timestamptz, error jsonb, output text)
  where t.run = e.run and t.task_id = e.task_id and t.map_index = e.map_index and t.try = e.try and t.state = 'running';

  -- Only what the run will certainly decide the same way; a failure may become a retry.
  update app.cell as c set state = e.state, phase = 2, ended_at = e.at
  from jsonb_to_recordset(p_ended) as e(run bigint, task_id text, map_index integer, try integer, state text, at timestamptz)
  where c.run = e.run and c.task_id = e.task_id and c.map_index = e.map_index and c.try = e.try and c.phase < 2
    and e.state in ('success', 'skipped');

  if jsonb_array_length(p_labels) > 0 then
    update app.cell as c set label = l.label
    from (
      select r.run, r.task_id, r.map_index, r.try, coalesce(r.label, app.label_of(r.run, r.same_as, r.map_index)) as label
      from jsonb_to_recordset(p_labels) as r(run bigint, task_id text, map_index integer, try integer, label text, same_as text[])
    ) l
    where c.run = l.run and c.task_id = l.task_id and c.map_index = l.map_index and c.try = l.try
      and l.label is not null and c.label is distinct from l.label;
  end if;

  -- It has ended before it was asked to: should it go on after a wait, nobody wants its slot back any more.
  delete from app.stop s using jsonb_to_recordset(p_ended) as e(run bigint, task_id text, map_index integer, try integer)
  where s.give_back is not null and s.run = e.run and s.task_id = e.task_id and s.map_index = e.map_index and s.try = e.try;

  with freed as (
    delete from app.lease as l
    using jsonb_to_recordset(p_ended) as e(run bigint, task_id text, map_index integer, try integer)
    where l.run = e.run and l.task_id = e.task_id and l.map_index = e.map_index and l.try = e.try
    returning l.account, l.limits
  )
  select array_agg(distinct f.account), array_agg(distinct k.key) filter (where k.key is not null) into v_freed, v_freed_limits
  from freed f left join lateral unnest(f.limits) as k(key) on true;

  if jsonb_array_length(p_next) > 0 then
    with ready as (
      select distinct on (n.run, n.task_id) n.*
      from jsonb_to_recordset(p_next) as n(run bigint, task_id text, after text[], account text, slots integer, cores real, priority integer)
      where cardinality(n.after) = (
        select count(*) from app.cell c
        where c.run = n.run and c.task_id = any (n.after) and c.map_index = -1 and c.state = 'success')
      order by n.run, n.task_id
    ), asked as (
      insert into app.cell as c (run, task_id, state, try, phase, queued_at)
      select r.run, r.task_id, 'queued', 1, 0, app.now() from ready r
      on conflict do nothing
      returning c.run, c.task_id
    )
    select coalesce(jsonb_agg(jsonb_build_object('run', r.run, 'task_id', r.task_id, 'map_index', -1, 'try', 1,
                                                 'account', r.account, 'slots', r.slots, 'cores', r.cores, 'priority', r.priority,
                                                 'after', r.after)), '[]')
    into v_requests
    from ready r join asked a using (run, task_id);
    if jsonb_array_length(v_requests) > 0 then
      select a.at_once, a.undecided into v_at_once, v_undecided from app.ask(v_requests) a;
      if not v_at_once then
        update app.lease l set told_at = app.now(), tell_after = app.now() + interval '5 seconds'
        from jsonb_to_recordset(v_requests) as q(run bigint, task_id text)
        where l.run = q.run and l.task_id = q.task_id and l.map_index = -1 and l.try = 1 and l.granted_at is not null;
      end if;
    end if;
  end if;

  return query
  select coalesce(jsonb_agg(jsonb_build_array(s.run, s.task_id, s.map_index, s.try, i.name, i.output::text, i.stored) order by i.n), '[]'),
         coalesce((select jsonb_agg(jsonb_build_array(q.run, q.task_id))
                   from jsonb_to_recordset(v_requests) as q(run bigint, task_id text)
                   join app.lease l on l.run = q.run and l.task_id = q.task_id and l.map_index = -1 and l.try = 1
                   where l.granted_at is not null), '[]'),
         v_undecided or exists (select from app.lease l where l.account = any (v_freed) and l.granted_at is null)
           or exists (select from app.lease l where l.granted_at is null and not l.held and l.limits <> '{}' and l.limits && v_freed_limits)
  from jsonb_to_recordset(p_started) as s(run bigint, task_id text, map_index integer, try integer, inputs jsonb)
  cross join lateral app.try_inputs(s.run, s.inputs) as i(name, output, stored, n);
end $function$;

CREATE OR REPLACE FUNCTION app.renew_limits(p_dags text[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock(72, 2);
  update app.lease l set limits = n.limits, class = n.class
  from (
    select o.run, o.task_id, o.map_index, o.try, app.limits_of(r, o.task_id, o.account) as limits, r.class
    from app.dag_run r join app.lease o on o.run = r.run and o.task_id <> ''
    where r.dag_id = any (p_dags) and r.state in ('queued', 'running')
  ) n
  where l.run = n.run and l.task_id = n.task_id and l.map_index = n.map_index and l.try = n.try
    and (l.limits <> n.limits or l.class <> n.class);
end $function$;

CREATE OR REPLACE FUNCTION app.reopen_run(p_run bigint, p_records jsonb, p_state jsonb, p_version bigint, OUT placed boolean, OUT undecided boolean)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  v_account text;
  v_free boolean;
begin
  perform app.share_allocator();
  select 'runs:' || r.dag_id into v_account from app.dag_run r where r.run = p_run;
  perform app.lock_accounts(73, array[v_account]);
  perform app.settle(p_records);
  perform from app.dag_run r where r.run = p_run for update;
  update app.dag_run r set state = 'queued', ended_at = null, reason = null, run_state = p_state, version = coalesce(p_version, r.version)
  where r.run = p_run and r.state not in ('queued', 'running');
  select not exists (select from app.lease w where w.account = v_account and w.granted_at is null and not w.held)
         and a.slots > coalesce((select sum(l.slots) from app.lease l where l.account = v_account and l.granted_at is not null), 0)
    into v_free from app.account a where a.key = v_account;
  insert into app.lease (run, task_id, try, account, slots, priority, granted_at, tell_after)
  select p_run, '', 0, v_account, 1, app.with_priority(10, r.priority), case when v_free then app.now() end, app.now() + interval '5 seconds'
  from app.dag_run r where r.run = p_run
  on conflict do nothing;
  select l.granted_at is not null into placed from app.lease l where l.run = p_run and l.task_id = '';
  if placed then perform app.runs_started(array[p_run]); end if;
  undecided := not placed;
end $function$;

CREATE OR REPLACE FUNCTION app.roll_spent()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION app.runs_started(p_runs bigint[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  -- Lost in a crash, it is written again: the outbox starts the run a second time, which Temporal refuses.
  perform set_config('synchronous_commit', 'off', true);
  update app.dag_run r set state = 'running', started_at = coalesce(r.started_at, app.now()), reason = null
  from (select d.run from app.dag_run d where d.run = any (p_runs) and d.state = 'queued' for update skip locked) s
  where r.run = s.run;
  update app.lease l set told_at = app.now(), known = true
  from (select o.run from app.lease o where o.run = any (p_runs) and o.task_id = '' and not o.known for update skip locked) s
  where l.run = s.run and l.task_id = '';
end $function$;

CREATE OR REPLACE FUNCTION app.runs_waiting(p_dag text)
 RETURNS integer
 LANGUAGE sql
 STABLE
AS $function$
  select count(*)::integer from app.lease l where l.account = 'runs:' || p_dag and l.granted_at is null and not l.held
$function$;

CREATE OR REPLACE FUNCTION app.sample_pools()
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION app.set_dag_limits(p jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_changed text[];
begin
  with wanted as (
    select x.dag_id, k.key, k.slots
    from jsonb_to_recordset(p) as x(dag_id text, runs integer, tasks integer, by_task jsonb)
    cross join lateral (
      select 'runs:' || x.dag_id as key, x.runs as slots
      union all select 'tasks:' || x.dag_id, x.tasks where x.tasks is not null
      union all select 'task:' || x.dag_id || ':' || t.key, t.value::integer from jsonb_each_text(x.by_task) as t
    ) k
  ), gone as (
    delete from app.account a using jsonb_to_recordset(p) as x(dag_id text)
    where (a.key = 'tasks:' || x.dag_id or (a.key >= 'task:' || x.dag_id || ':' and a.key < 'task:' || x.dag_id || ';'))
      and a.key not in (select w.key from wanted w)
    returning x.dag_id
  ), made as (
    insert into app.account as a (key, slots)
    select w.key, w.slots from wanted w
    where not exists (select from app.account o where o.key = w.key and o.slots = w.slots)
    order by w.key
    on conflict (key) do update set slots = excluded.slots
    returning a.key
  )
  select array_agg(distinct g.dag_id) into v_changed from (
    select dag_id from gone
    union all select w.dag_id from made m join wanted w using (key) where m.key not like 'runs:%'
  ) g;
  if v_changed is not null then perform app.renew_limits(v_changed); end if;
end $function$;

CREATE OR REPLACE FUNCTION app.set_paused(p_dag text, p_paused boolean, p_who text, p_reason text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  -- The DAG first, as whoever creates its runs.
  update app.dag d set paused = p_paused, pause_reason = p_reason, paused_by = case when p_paused then p_who end,
         next_due_at = case when p_paused then d.next_due_at else app.now() end, updated_at = app.now()
  where d.dag_id = p_dag;
  if not found then return false; end if;
  -- Waiting requests stand still under a pass of the allocator.
  perform pg_advisory_xact_lock(72, 2);
  update app.lease l
  set held = p_paused, reason = case when p_paused then 'its dag is paused' end,
      reason_since = case when p_paused then app.now() end
  from app.dag_run r
  where l.account = 'runs:' || p_dag and l.granted_at is null and l.held <> p_paused
    and r.run = l.run and r.run_type = 'scheduled';
  insert into app.audit (who, action, dag_id, detail)
  values (p_who, case when p_paused then 'pause' else 'unpause' end, p_dag, jsonb_build_object('reason', p_reason));
  return true;
end $function$;

CREATE OR REPLACE FUNCTION app.set_run_priority(p_run bigint, p_priority integer, p_who text)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION app.settle(p jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if p is null or jsonb_array_length(p) = 0 then return; end if;

  insert into app.task_event (run, seq, task_id, map_index, try, state, detail)
  select r.run, r.seq, r.task_id, r.map_index, r.try, r.state,
         case when r.try_state is not null then jsonb_build_object('try', r.try_state) end
  from jsonb_to_recordset(p) as r(run bigint, seq integer, task_id text, map_index integer, try integer, state text, try_state text)
  on conflict do nothing;

  insert into app.task_try as t (run, task_id, map_index, try, state, ended_at, error, output)
  select r.run, r.task_id, r.map_index, r.try, r.try_state, app.now(), r.error, r.output::json
  from jsonb_to_recordset(p) as r(run bigint, task_id text, map_index integer, try integer, try_state text, error jsonb, output text)
  where r.try_state is not null
  order by r.run, r.task_id, r.map_index, r.try
  on conflict on constraint task_try_pkey do update
    set state = excluded.state, ended_at = coalesce(t.ended_at, excluded.ended_at),
        error = coalesce(excluded.error, t.error), output = coalesce(excluded.output, t.output)
    where t.state is distinct from excluded.state or t.ended_at is null;

  insert into app.cell as c (run, task_id, map_index, state, try, phase, seq, ended_at)
  select distinct on (r.run, r.task_id, r.map_index) r.run, r.task_id, r.map_index, r.state, r.try,
         -- Of a try that waits: it may be queued once more.
         case when r.state = 'deferred' then -1 else 3 end, r.seq,
         -- When its body ended, not when the run heard of it.
         case when r.state not in ('none', 'deferred') then coalesce((
           select e.ended_at from app.task_try e
           where r.try_state is not null and e.run = r.run and e.task_id = r.task_id and e.map_index = r.map_index and e.try = r.try
         ), app.now()) end
  from jsonb_to_recordset(p) as r(run bigint, seq integer, task_id text, map_index integer, try integer, state text, try_state text)
  order by r.run, r.task_id, r.map_index, r.seq desc
  on conflict on constraint cell_pkey do update
    set state = excluded.state, try = excluded.try, phase = excluded.phase, seq = excluded.seq,
        ended_at = case when c.try = excluded.try and excluded.ended_at is not null then coalesce(c.ended_at, excluded.ended_at)
                        else excluded.ended_at end,
        -- It is to run again: nothing of it has happened yet.
        -- Nor of another try than the one it was at.
        queued_at = case when excluded.state <> 'none' and excluded.try = c.try then c.queued_at end,
        started_at = case when excluded.state <> 'none' and excluded.try = c.try then c.started_at end,
        -- Its item may be another one then.
        label = case when excluded.state <> 'none' then c.label end
    where excluded.seq > c.seq;

  -- A mapped task that was shown as a whole gives way to its instances. One that its run's version does not have stays.
  delete from app.cell c
  using jsonb_to_recordset(p) as r(run bigint, task_id text, map_index integer, state text, gone boolean)
  where r.state = 'removed' and r.map_index = -1 and r.gone is not true and c.run = r.run and c.task_id = r.task_id and c.map_index = -1
    and c.state = 'removed';

  -- Also what was asked ahead for a task that now never runs (record_tries).
  delete from app.lease as l
  using jsonb_to_recordset(p) as r(run bigint, task_id text, map_index integer, try integer, state text, try_state text)
  where l.run = r.run and l.task_id = r.task_id and l.map_index = r.map_index and r.task_id <> ''
    and (l.try = r.try or r.try_state is null)
    -- Of a try that waits: not the slot that it has asked for since.
    and (r.state <> 'deferred' or l.wait < (
      select max(w.wait) from app.wait w
      where w.run = r.run and w.task_id = r.task_id and w.map_index = r.map_index and w.try = r.try));

  -- Nothing waits any more for a try that has ended, or for those before it; the run knows.
  update app.wait as w set known = true, ended_at = coalesce(w.ended_at, app.now()), ended_as = coalesce(w.ended_as, 'cancelled')
  from jsonb_to_recordset(p) as r(run bigint, task_id text, map_index integer, try integer, state text)
  where w.run = r.run and w.task_id = r.task_id and w.map_index = r.map_index and w.try <= r.try
    and r.state <> 'deferred' and not w.known;

  -- A wait that has run out is told of, once.
  if p @> '[{"try_state": "timed_out"}]' then
    insert into app.alert (run, task_id, map_index, try, kind, message)
    select r.run, r.task_id, r.map_index, r.try, r.error ->> 'code', coalesce(r.error ->> 'message', '')
    from jsonb_to_recordset(p) as r(run bigint, task_id text, map_index integer, try integer, try_state text, error jsonb)
    where r.try_state = 'timed_out' and r.error ->> 'code' = 'wait_timeout'
    on conflict do nothing;
  end if;

  -- A recorded success that the run never heard of (its worker was killed in between) is no success: what was asked for
  -- ahead on its strength gives the slot back, or the next try could wait for ever behind its own successor.
  with dropped as (
    delete from app.lease as l
    using jsonb_to_recordset(p) as r(run bigint, seq integer, task_id text, map_index integer, try integer, state text)
    where l.run = r.run and l.after is not null and r.task_id = any (l.after) and r.state <> 'success'
      -- Not by a repeat that comes late: the run has decided more since.
      and exists (select from app.cell u
        where u.run = r.run and u.task_id = r.task_id and u.map_index = r.map_index and u.try = r.try and u.seq = r.seq)
    returning l.run, l.task_id, l.map_index, l.try
  )
  delete from app.cell c using dropped d
  where c.run = d.run and c.task_id = d.task_id and c.map_index = d.map_index and c.try = d.try and c.phase = 0;
end $function$;

CREATE OR REPLACE FUNCTION app.share_allocator()
 RETURNS void
 LANGUAGE sql
AS $function$ select pg_advisory_xact_lock_shared(72, 2) $function$;

CREATE OR REPLACE FUNCTION app.standing_of(p_run app.dag_run)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object('tenant', p_run.tenant, 'class', p_run.class,
    'share', coalesce((select a.slots from app.account a where a.key = 'tenant:' || p_run.tenant), 1))
$function$;

CREATE OR REPLACE FUNCTION app.stop_tries(p jsonb)
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into app.stop (run, task_id, map_index, try)
  select s.run, s.task_id, s.map_index, s.try
  from jsonb_to_recordset(p) as s(run bigint, task_id text, map_index integer, try integer)
  -- To end is more than to give back.
  on conflict on constraint stop_pkey do update set give_back = null
$function$;

CREATE OR REPLACE FUNCTION app.tenant_runs_waiting(p_tenant text)
 RETURNS integer
 LANGUAGE sql
 STABLE
AS $function$
  select count(*)::integer from app.dag_run r join app.lease l on l.run = r.run and l.task_id = ''
  where r.state = 'queued' and r.tenant = p_tenant and l.granted_at is null and not l.held
$function$;

CREATE OR REPLACE FUNCTION app.trigger_runs(p jsonb)
 RETURNS TABLE(dag_id text, run_id text, run bigint, created boolean, own boolean, granted boolean, grants jsonb, undecided boolean, standing jsonb, refused jsonb)
 LANGUAGE plpgsql
AS $function$
declare
  r record;
  q record;
  v_now timestamptz;
  v_keys text[];
  v_key text;
  v_taken jsonb := '{}';
  v_seen text[] := '{}';
  v_known jsonb := '{}';
  v_from timestamptz;
  v_pass jsonb := '[]';
  v_at integer[] := '{}';
  v_refused jsonb[] := '{}';
  v_refusal jsonb;
  v_free_at timestamptz;
  v_ahead integer;
  v_waiting integer;
  v_free integer;
begin
  -- Before the allocator is shared (in app.create_runs): who waits for a key here holds up nobody there.
  select array_agg(distinct k.key) into v_keys
  from jsonb_to_recordset(p) as x(dag_id text, rates jsonb, most jsonb)
  cross join lateral (
    select t ->> 'key' as key from jsonb_array_elements(x.rates) as t
    union all select 'runs:' || x.dag_id where x.most ? 'dag'
    union all select 'runs of ' || (x.most ->> 'tenant_name') where x.most ? 'tenant'
  ) k;
  perform app.lock_accounts(75, v_keys);
  v_now := app.now();

  for r in
    select x.value as row, x.value ->> 'dag_id' as dag_id, (x.value ->> 'logical_at')::timestamptz as logical_at, x.value -> 'most' as most
    from jsonb_array_elements(p) with ordinality as x(value, n) order by x.n
  loop
    v_refusal := null;
    v_key := r.dag_id || ' ' || r.logical_at;
    if v_key <> all (v_seen) and not exists (
      select from app.run_key k where k.dag_id = r.dag_id and k.logical_at = r.logical_at and k.fork = 0)
    then
      for q in select * from jsonb_to_recordset(r.row -> 'rates') as x(key text, triggers integer, within_ms double precision) loop
        v_ahead := coalesce((v_taken ->> q.key)::integer, 0);
        v_from := v_now - make_interval(secs => q.within_ms / 1000);
        -- A window may hold thousands, and a call many of one key: they are counted once.
        v_key := q.key || ' ' || q.triggers || ' ' || q.within_ms;
        if not v_known ? v_key then
          select v_known || jsonb_build_object(v_key, q.triggers - count(*)) into v_known from (
            select from app.trigger_hit h where h.key = q.key and h.at > v_from order by h.at desc limit q.triggers) n;
        end if;
        continue when v_ahead < (v_known ->> v_key)::integer;
        -- The one that has to leave the window first; of this call alone, all of it.
        v_key := v_key || ' again ' || v_ahead;
        if not v_known ? v_key then
          v_free_at := null;
          if q.triggers > v_ahead then
            select h.at + (v_now - v_from) into v_free_at from app.trigger_hit h where h.key = q.key and h.at > v_from
            order by h.at desc offset q.triggers - v_ahead - 1 limit 1;
          end if;
          v_known := v_known || jsonb_build_object(v_key, coalesce(v_free_at, v_now + (v_now - v_from)));
        end if;
        v_free_at := (v_known ->> v_key)::timestamptz;
        if v_refusal is null or extract(epoch from v_free_at - v_now) * 1000 > (v_refusal ->> 'again_ms')::double precision then
          v_refusal := jsonb_build_object('rule', 'rate', 'key', q.key, 'triggers', q.triggers, 'within_ms', q.within_ms,
                                          'again_ms', extract(epoch from v_free_at - v_now) * 1000);
        end if;
      end loop;

      -- It takes a place that is free, or it waits behind those that do.
      v_ahead := coalesce((v_taken ->> ('runs:' || r.dag_id))::integer, 0);
      if v_refusal is null and r.most is not null then
        v_key := 'places of ' || r.dag_id;
        if not v_known ? v_key then
          v_waiting := app.runs_waiting(r.dag_id);
          v_known := v_known || jsonb_build_object(v_key, case when v_waiting > 0 then -v_waiting else (
            select greatest(coalesce(max(a.slots), 0) - coalesce((select sum(l.slots) from app.lease l
                     where l.account = 'runs:' || r.dag_id and l.granted_at is not null), 0), 0)
            from app.account a where a.key = 'runs:' || r.dag_id) end);
        end if;
        v_free := greatest((v_known ->> v_key)::integer, 0);
        v_waiting := greatest(-(v_known ->> v_key)::integer, 0);
        if v_ahead >= v_free then
          v_waiting := v_waiting + v_ahead - v_free;
          if v_waiting >= (r.most ->> 'dag')::integer then
            v_refusal := jsonb_build_object('rule', 'queued', 'of', 'dag', 'name', r.dag_id, 'waiting', v_waiting, 'most', r.most -> 'dag');
          elsif r.most ? 'tenant' then
            v_key := 'runs of ' || (r.most ->> 'tenant_name');
            v_waiting := app.tenant_runs_waiting(r.most ->> 'tenant_name') + coalesce((v_taken ->> v_key)::integer, 0);
            if v_waiting >= (r.most ->> 'tenant')::integer then
              v_refusal := jsonb_build_object('rule', 'queued', 'of', 'tenant', 'name', r.most -> 'tenant_name', 'waiting', v_waiting,
                                              'most', r.most -> 'tenant');
            else
              v_taken := v_taken || jsonb_build_object(v_key, coalesce((v_taken ->> v_key)::integer, 0) + 1);
            end if;
          end if;
        end if;
      end if;

      if v_refusal is null then
        v_taken := v_taken || jsonb_build_object('runs:' || r.dag_id, v_ahead + 1) || coalesce((
          select jsonb_object_agg(k.key, coalesce((v_taken ->> k.key)::integer, 0) + 1)
          from (select distinct t ->> 'key' as key from jsonb_array_elements(r.row -> 'rates') as t) k), '{}');
        v_seen := v_seen || (r.dag_id || ' ' || r.logical_at);
      end if;
    end if;
    v_refused := array_append(v_refused, v_refusal);
    v_at := v_at || case when v_refusal is null then jsonb_array_length(v_pass) + 1 end;
    if v_refusal is null then v_pass := v_pass || jsonb_build_array(r.row); end if;
  end loop;

  return query
  with made as materialized (
    select * from app.create_runs(v_pass) with ordinality as m(dag_id, run_id, run, created, own, granted, grants, undecided, standing, n)
  ), hits as (
    insert into app.trigger_hit (key, at)
    select distinct on (m.run, t ->> 'key') t ->> 'key', v_now
    from made m cross join lateral jsonb_array_elements(v_pass -> (m.n::integer - 1) -> 'rates') as t
    where m.created
  )
  select coalesce(m.dag_id, p -> (a.n::integer - 1) ->> 'dag_id'), coalesce(m.run_id, p -> (a.n::integer - 1) ->> 'run_id'), m.run,
         coalesce(m.created, false), coalesce(m.own, false), coalesce(m.granted, false), m.grants, coalesce(m.undecided, false), m.standing, a.refused
  from unnest(v_at, v_refused) with ordinality as a(at, refused, n) left join made m on m.n = a.at
  order by a.n;
end $function$;

CREATE OR REPLACE FUNCTION app.try_inputs(p_run bigint, p_inputs jsonb)
 RETURNS TABLE(name text, output json, stored jsonb, n bigint)
 LANGUAGE sql
 STABLE
AS $function$
  select i.key, o.output, o.stored, o.n
  from jsonb_each(p_inputs) as i(key, value)
  cross join lateral (
    (select t.output, t.stored, 1::bigint as n from app.task_try t
     where jsonb_typeof(i.value) = 'string' and t.run = p_run and t.task_id = i.value #>> '{}' and t.map_index = -1
       and t.state = 'success'
     order by t.try desc limit 1)
    union all
    select p.output, p.stored, p.n from app.input_parts(p_run, i.value) with ordinality as p(output, stored, n)
    where jsonb_typeof(i.value) = 'object'
  ) o
$function$;

CREATE OR REPLACE FUNCTION app.untold_waits(p_limit integer, p_hold_ms double precision)
 RETURNS TABLE(run bigint, task_id text, map_index integer, try integer, wait integer, resumes boolean, ended_as text, detail jsonb, dag_id text, run_id text)
 LANGUAGE plpgsql
AS $function$
begin
  return query
  with taken as (
    select w.run, w.task_id, w.map_index, w.try, w.wait from app.wait w
    where w.ended_at is not null and w.begun_at is not null and not w.known and w.tell_after <= app.now()
    order by w.tell_after limit p_limit for update skip locked
  ), held as (
    update app.wait w set tell_after = app.now() + make_interval(secs => p_hold_ms / 1000)
    from taken t where w.run = t.run and w.task_id = t.task_id and w.map_index = t.map_index and w.try = t.try and w.wait = t.wait
    returning w.run, w.task_id, w.map_index, w.try, w.wait, w.resumes, w.ended_as, w.detail
  )
  select h.run, h.task_id, h.map_index, h.try, h.wait, h.resumes, h.ended_as, h.detail, r.dag_id, r.run_id
  from held h join app.dag_run r on r.run = h.run;
end $function$;

CREATE OR REPLACE FUNCTION app.with_priority(p_own bigint, p_more integer)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select least(greatest(p_own + p_more, -2147483648), 2147483647)::integer
$function$;

insert into app.account (key, slots, description) values ('pool:default_pool', 128, 'For tasks that name no pool');
