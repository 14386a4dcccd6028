-- Commands to runs: a closed run is opened again, a try is asked to stop by hand.

-- Tries that are to stop; their worker looks here while it runs any. A row goes with its try, or after a day.
create table app.stop (
  run       bigint not null,
  task_id   text not null,
  map_index integer not null,
  try       integer not null,
  at        timestamptz not null default app.now(),
  give_back text,                                  -- why it is to give its slot back and run again; null: it is to end
  primary key (run, task_id, map_index, try)
);

create function app.stop_tries(p jsonb) returns void language sql as $$
  insert into app.stop (run, task_id, map_index, try)
  select s.run, s.task_id, s.map_index, s.try
  from jsonb_to_recordset(p) as s(run bigint, task_id text, map_index integer, try integer)
  -- To end is more than to give back.
  on conflict on constraint stop_pkey do update set give_back = null
$$;

-- A closed run goes on: it asks for its place among the active runs of its DAG, behind those that wait. `placed`: it has it.
-- Idempotent. `p_version`: of its DAG, by which it goes on; null: its own. `undecided`: a pass of the allocator is wanted.
create function app.reopen_run(p_run bigint, p_records jsonb, p_state jsonb, p_version bigint, out placed boolean, out undecided boolean)
language plpgsql as $$
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
end $$;

-- After so many failed runs in a row the DAG is paused; null: never.
alter table app.dag add column max_failed_runs integer;
