-- What tries wait for without a slot (A6). One statement ends a wait (`ended_at is null`), whoever comes; then its run is
-- told, and told again until it says that it knows.
create table app.wait (
  run           bigint not null,
  task_id       text not null,
  map_index     integer not null default -1,
  try           integer not null,
  wait          integer not null default 1,        -- number of the wait within its try
  kind          text not null,                     -- sensor, event, time, run
  queue         text not null default 'default',   -- whose workers check it
  resumes       boolean not null default false,    -- its body goes on in the same try; else its end ends the try
  spec          jsonb not null default '{}',       -- what its kind needs: {refs}, {asked}, {dag_id, run_id, task_id}
  state         json,                              -- what the body keeps over it, to the letter
  every_ms      bigint,                            -- between two looks
  next_at       timestamptz,                       -- of a sensor and another run: the next look; of a time: that time
  expires_at    timestamptz,                       -- its own time-out
  try_expires_at timestamptz,                      -- its try's execution time-out
  pokes         integer not null default 0,
  poked_at      timestamptz,
  claimed_by    text,                              -- the worker that looks just now
  claimed_until timestamptz,
  begun_at      timestamptz,                       -- null: ended ahead of its beginning
  ended_at      timestamptz,
  ended_as      text,                              -- success, expired, timed_out, skipped, failed, cancelled
  ended_by      text,
  payload       json,                              -- what an event brought, to the letter
  detail        jsonb,                             -- of its end: {measured}, {message}, {error}
  tell_after    timestamptz,                       -- the outbox leaves it alone until then: somebody is telling
  known         boolean not null default false,    -- the run knows of its end
  primary key (run, task_id, map_index, try, wait)
);
create index wait_next on app.wait (next_at) where ended_at is null and begun_at is not null and next_at is not null;
create index wait_expires on app.wait (least(expires_at, try_expires_at))
  where ended_at is null and begun_at is not null and (expires_at is not null or try_expires_at is not null);
create index wait_untold on app.wait (tell_after) where ended_at is not null and begun_at is not null and not known;
alter table app.wait set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0, fillfactor = 80);

-- Signs the addresses of waits, so that they need not be kept: who has one may end that wait.
create table app.secret (
  name  text primary key,
  value text not null
);
insert into app.secret (name, value)
values ('waits', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''));

-- Tries begin to wait. One that was ended ahead of its beginning ends now; one that cannot be (`ended_as`) ends at once.
-- True when one has ended already. Idempotent.
create function app.begin_waits(p jsonb) returns boolean language plpgsql as $$
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
end $$;

-- Ends waits, each once: `as` says how. `p`: [{run, task_id, map_index, try, wait, as, by, payload, detail}], payload as JSON text.
-- Answers those that this call has ended.
create function app.end_waits(p jsonb)
returns table (run bigint, task_id text, map_index integer, try integer, wait integer) language plpgsql as $$
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
end $$;

-- Ends what is over by the clock, and what waits for a run or task that has ended. True when one has.
create function app.look_at_waits(p_limit integer) returns boolean language plpgsql as $$
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
end $$;

-- Somebody ends the wait of a cell: `p_try` and `p_wait` as its address says, or null for the one that is next to end.
-- What comes ahead of its beginning is kept for it (K39). Answers how: ended, already_ended, too_late, no_run.
create function app.end_event(p_run bigint, p_task text, p_index integer, p_try integer, p_wait integer, p_payload text,
                              p_who text, p_detail jsonb, out answer text, out at_try integer, out at_wait integer)
language plpgsql as $$
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
end $$;

-- Sensors whose checks are due and that this worker's queues serve, each taken for a while: a worker that dies is followed by
-- another. With what their bodies are told and read.
create function app.claim_pokes(p_worker text, p_queues text[], p_limit integer, p_hold_ms double precision)
returns table (run bigint, task_id text, map_index integer, try integer, wait integer, spec jsonb, expires_at timestamptz,
  try_expires_at timestamptz, dag_id text, run_id text, run_type text, logical_at timestamptz, start_at timestamptz,
  end_at timestamptz, version bigint, conf jsonb, inputs jsonb) language plpgsql as $$
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
end $$;

-- Checks that said no: the next one comes after the interval. `again`: what was to be one, and comes at once.
-- `p`: [{run, task_id, map_index, try, wait, again}].
create function app.poked(p jsonb, p_worker text) returns void language sql as $$
  update app.wait w
  set pokes = w.pokes + case when x.again then 0 else 1 end, poked_at = app.now(), claimed_by = null, claimed_until = null,
      next_at = app.now() + case when x.again then interval '1 second' else make_interval(secs => w.every_ms::double precision / 1000) end
  from jsonb_to_recordset(p) as x(run bigint, task_id text, map_index integer, try integer, wait integer, again boolean)
  where w.run = x.run and w.task_id = x.task_id and w.map_index = x.map_index and w.try = x.try and w.wait = x.wait
    and w.claimed_by = p_worker and w.ended_at is null
$$;

-- Checks that are still under way: theirs for longer. Answers those whose waits have been ended meanwhile, or taken.
create function app.keep_pokes(p jsonb, p_worker text, p_hold_ms double precision) returns jsonb language plpgsql as $$
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
end $$;

-- Ended waits that their runs may not know of, each taken for a while; who takes them and dies has lost nothing.
create function app.untold_waits(p_limit integer, p_hold_ms double precision)
returns table (run bigint, task_id text, map_index integer, try integer, wait integer, resumes boolean, ended_as text, detail jsonb,
  dag_id text, run_id text) language plpgsql as $$
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
end $$;

-- What waits now, for lists over all runs.
create index wait_open on app.wait (run, task_id) where ended_at is null and begun_at is not null;
