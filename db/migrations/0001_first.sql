-- The run number (bigint) is its creation time: milliseconds since the epoch × 1000 + a counter (see app.new_run()).
-- So it is unique, ascending, safe as a JavaScript number until 2255, and the partition key of every big table.
create schema if not exists app;

-- The clock all statements read; a test session sets meridian.now.
create function app.now() returns timestamptz language sql stable as $$
  select coalesce(nullif(current_setting('meridian.now', true), '')::timestamptz, clock_timestamp())
$$;

create sequence app.run_counter;
create function app.new_run() returns bigint language sql volatile as $$
  select (extract(epoch from clock_timestamp()) * 1000)::bigint * 1000 + nextval('app.run_counter') % 1000
$$;

create table app.bundle (
  hash       text primary key,
  code       text not null,
  source_map text,                                 -- with the sources as saved last: remarks change them and not the code
  sources_at timestamptz not null default app.now(), -- when that was
  created_at timestamptz not null default app.now()
);

create table app.dag (
  dag_id          text primary key,
  file            text not null,
  active          boolean not null default true,   -- false: its file is gone or defines it no more
  paused          boolean not null default false,
  pause_reason    text,
  paused_by       text,
  version         bigint,                          -- the version new runs take; not the newest where a file went back
  version_before  bigint,                          -- the one in force before it
  version_since   timestamptz,                     -- when it was put in force, maybe again
  timetable       jsonb not null,
  timetable_hash  text not null,
  start_at        timestamptz,
  end_at          timestamptz,
  catchup         boolean not null default false,
  max_active_runs integer not null,
  cursor_at       timestamptz,                     -- end of the last interval decided
  next_due_at     timestamptz,                     -- when createRuns must look again; null: never
  uncovered       jsonb,                           -- a stretch that a change of timetable left without a run
  first_seen_at   timestamptz not null default app.now(),
  switched_on_at  timestamptz not null default app.now(),
  shard           integer not null,                -- 0..1023, a hash of the id
  owner           text not null default '',
  tags            text[] not null default '{}',
  description     text not null default '',
  tenant          text,                            -- by the limits file; null: none
  class           smallint not null default 1,     -- priority class: 0 best effort, 1 standard, 2 critical
  updated_at      timestamptz not null default app.now()
);
create index dag_due on app.dag (next_due_at) where active and not paused and next_due_at is not null;

create table app.dag_version (
  version     bigint generated always as identity primary key,
  dag_id      text not null references app.dag (dag_id),
  number      integer not null,                    -- 1, 2, 3 … within the DAG
  hash        text not null,                       -- over graph and bundle
  graph       jsonb not null,
  bundle_hash text not null references app.bundle (hash),
  lock_hash   text,                                -- of the lock file its packages were resolved by
  file        text not null,
  created_at  timestamptz not null default app.now(),
  unique (dag_id, number)
);
create index dag_version_hash on app.dag_version (dag_id, hash);

create table app.dag_file (
  path         text primary key,
  checked_at   timestamptz not null,               -- when it was last imported
  stored_at    timestamptz,                        -- when an import last changed what its DAGs are
  duration_ms  integer not null,
  queue_ms     integer,                            -- how long its last change waited for that import
  content_hash text,                               -- over the file and all it imports; null when it could not be bundled
  error        jsonb,                              -- {code, message, stack?, line?}
  dag_ids      text[] not null default '{}'
);

-- Unique for ever: (DAG, logical date) over scheduled, manual, dataset and backfill runs (P10). Retention never touches it.
create table app.run_key (
  dag_id     text not null,
  logical_at timestamptz not null,
  fork       integer not null default 0,           -- 0: the run itself; N: fork N of it (P11)
  run        bigint not null,
  request    text,                                 -- idempotency key of the trigger that made it, which may come again
  primary key (dag_id, logical_at, fork)
);

create table app.dag_run (
  run          bigint not null primary key,
  dag_id       text not null,
  run_id       text not null,                      -- core/ids.ts runIdOf
  run_type     text not null,
  logical_at   timestamptz not null,               -- a fork keeps its origin's
  start_at     timestamptz not null,               -- data interval [start_at, end_at)
  end_at       timestamptz not null,
  state        text not null,
  version      bigint not null,
  conf         jsonb not null default '{}',
  triggered_by text,
  tenant       text,                               -- and class: its DAG's when it was made, or its caller's
  class        smallint not null default 1,
  priority     integer not null default 0,         -- by hand: added to what its place and its tries ask with
  queued_at    timestamptz not null default app.now(),
  started_at   timestamptz,
  ended_at     timestamptz,
  reason       text,                               -- why it waits, or why it failed
  run_state    jsonb                               -- core/run.ts RunState, stored when it closes
) partition by range (run);
create index dag_run_by_date on app.dag_run (dag_id, logical_at desc, run desc);
create index dag_run_by_state on app.dag_run (state, run desc);
create index dag_run_open on app.dag_run (dag_id, state) where state in ('queued', 'running');

-- One row per task (or mapped instance) of a run: what the grid shows.
create table app.cell (
  run        bigint not null,
  task_id    text not null,
  map_index  integer not null default -1,          -- -1: not mapped
  state      text not null,
  try        integer not null default 0,
  phase      smallint not null default 0,          -- within its try: 0 asked, 1 running, 2 ended, 3 settled; a lower one never overwrites a higher
  seq        integer not null default 0,           -- of the run's decision; an older one changes nothing
  queued_at  timestamptz,
  started_at timestamptz,
  ended_at   timestamptz,
  label      text,                                 -- what people read beside the index; not unique
  primary key (run, task_id, map_index)
) partition by range (run);

create table app.task_try (
  run        bigint not null,
  task_id    text not null,
  map_index  integer not null default -1,
  try        integer not null,
  state      text not null,
  worker     text,
  queued_at  timestamptz,
  started_at timestamptz,
  ended_at   timestamptz,
  error      jsonb,                                -- {code, message, stack?}
  output     json,                                 -- to the letter: jsonb would sort the keys of its objects
  stored     jsonb,                                -- {key, bytes}: a large output, in the object store
  primary key (run, task_id, map_index, try)
) partition by range (run);

-- What the run decided, in its own order. Cells can be folded from it.
create table app.task_event (
  run       bigint not null,
  seq       integer not null,
  task_id   text not null,
  map_index integer not null default -1,
  try       integer not null,
  state     text not null,
  at        timestamptz not null default app.now(),
  detail    jsonb,
  primary key (run, seq)
) partition by range (run);

-- Why tries waited for their slots, and for how long (F16): spans of a second and more, kept with their tries.
create table app.waited (
  run       bigint not null,
  task_id   text not null,                         -- '' for the run itself
  map_index integer not null default -1,
  try       integer not null,
  reason    text not null,
  since     timestamptz not null,
  until     timestamptz not null,
  primary key (run, task_id, map_index, try, since)
) partition by range (run);

-- The account book (design 4). A lease without granted_at is a request that waits.
create table app.account (
  key             text primary key,                -- pool:NAME, runs:DAG; limits beside a pool: tasks:DAG, task:DAG:TASK,
                                                   -- tenant:NAME, cohort:NAME, adhoc:POOL (what runs by hand may take of it)
  slots           integer not null check (slots >= 0),
  description     text not null default '',
  owed            integer[] not null default '{0,0}', -- of a pool: slots that went to higher classes while the lowest, the middle one waited
  cohort          text,                            -- of a tenant: who lends to it and borrows of it; null: nobody
  most            integer,                         -- of a tenant: so many slots with what it borrows; null: all that is lent
  core_hours      double precision,                -- of a tenant, a day (UTC); null: any
  exhausted_until timestamptz                      -- of a tenant: these are used up
);
create table app.lease (
  run          bigint not null,
  task_id      text not null,                      -- '' for the run's own lease
  map_index    integer not null default -1,
  try          integer not null,                   -- 0 for the run's own lease
  wait         integer not null default 0,         -- the try goes on behind that wait of its; 0: it begins
  account      text not null,
  slots        integer not null check (slots >= 0), -- of the pool; of each limit it takes one place
  limits       text[] not null default '{}',       -- further accounts that it draws on, in order (app.limits_of)
  class        smallint not null default 1,
  cores        real not null default 1,            -- for compute-hours
  priority     integer not null default 1,
  seq          bigint generated always as identity,
  requested_at timestamptz not null default app.now(),
  granted_at   timestamptz,
  told_at      timestamptz,                        -- when the run was last told; the answer may have been lost
  known        boolean not null default false,     -- the run certainly knows: it took a signal, or the try (or run) began
  after        text[],                             -- asked for ahead, with the record of these tasks' success; else null
  tell_after   timestamptz,                        -- the outbox leaves it alone until then: somebody is telling
  reason       text,                               -- why it waits
  reason_since timestamptz,
  held         boolean not null default false,     -- a run of a paused DAG: not to be granted, and ahead of nobody
  preempted_at timestamptz,                        -- its try was asked to give the slot back
  primary key (run, task_id, map_index, try)
);
create index lease_waiting on app.lease (account, limits, class, priority desc, seq) where granted_at is null and not held;
create index lease_unexplained on app.lease (account) where granted_at is null and not held and reason is null;
create index lease_used on app.lease (account) include (slots) where granted_at is not null;
create index lease_limits_used on app.lease (limits) include (slots) where granted_at is not null and limits <> '{}';
create index lease_untold on app.lease (tell_after) where granted_at is not null and not known;
create function app.keep_reason() returns trigger language plpgsql as $$
begin
  insert into app.waited (run, task_id, map_index, try, reason, since, until)
  values (old.run, old.task_id, old.map_index, old.try, old.reason, old.reason_since, app.now())
  on conflict do nothing;
  return null;
end $$;
create trigger keep_changed_reason after update of reason on app.lease for each row
  when (old.reason is distinct from new.reason and old.reason_since < clock_timestamp() - interval '1 second')
  execute function app.keep_reason();
create trigger keep_last_reason after delete on app.lease for each row
  when (old.reason is not null and old.reason_since < clock_timestamp() - interval '1 second')
  execute function app.keep_reason();
alter table app.lease set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Worker processes that live, for each queue they serve: written by them every few seconds. It says why a try that has
-- its slots does not begin; no decision rests on it.
create table app.worker (
  queue     text not null,                         -- a task's `queue`
  worker    text not null,                         -- host:pid, as in task_try
  tries     integer not null,                      -- under way
  max_tries integer not null,
  seen_at   timestamptz not null default app.now(),
  primary key (queue, worker)
);

create table app.audit (
  id      bigint generated always as identity primary key,
  at      timestamptz not null default app.now(),
  who     text not null,
  action  text not null,
  dag_id  text,
  run_id  text,
  detail  jsonb not null default '{}'
);
create index audit_at on app.audit (at desc);

-- The emergency dial: the newest row is in force; one without bounds is no dial.
create table app.dial (
  id             bigint generated always as identity primary key,
  at             timestamptz not null default app.now(),
  who            text not null,
  reason         text not null,
  tries          integer check (tries >= 0),       -- so many at once over all pools
  below_class    smallint,                         -- what is of a lower class waits
  below_priority integer                           -- what has a lower priority waits
);

-- The limits file as it was applied last; older ones are history.
create table app.limits (
  id   bigint generated always as identity primary key,
  at   timestamptz not null default app.now(),
  who  text not null,
  spec jsonb not null
);

-- Core-milliseconds that tenants used, as leases end; app.roll_spent adds them up by the minute.
create table app.spent (
  tenant  text not null,
  at      timestamptz not null default app.now(),
  core_ms double precision not null
);
create index spent_at on app.spent (tenant, at);

create table app.idempotency (
  key        text primary key,
  at         timestamptz not null default app.now(),
  answer     jsonb not null
);

-- Makes the monthly partitions from last month to `months` ahead. Idempotent, and safe beside itself.
create function app.ensure_partitions(months integer default 2) returns void language plpgsql as $$
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
end $$;
select app.ensure_partitions();

insert into app.account (key, slots, description) values ('pool:default_pool', 128, 'For tasks that name no pool');
