import { useState, type FormEvent } from "react";
import type { Pool } from "../../../api/contracts.ts";
import { Dialog, DialogFoot } from "../ui/dialog.tsx";
import { useDeletePool, useSetPool } from "./pool-changes.ts";

const MOST_SLOTS = 1_000_000;

interface EditProps {
  /** null: a new one. One that does not exist yet is made. */
  readonly pool: Pool | null;
  readonly onClose: () => void;
}

export function EditPool({ pool, onClose }: EditProps) {
  const [name, setName] = useState(pool?.name ?? "");
  const [slots, setSlots] = useState(pool?.exists === true ? String(pool.slots) : "");
  const [description, setDescription] = useState(pool?.description ?? "");
  const [floor, setFloor] = useState(
    pool === null || pool.scheduledFloor === 0 ? "" : String(pool.scheduledFloor),
  );
  const save = useSetPool();
  const makes = pool?.exists !== true;
  const number = /^\d{1,7}$/.test(slots.trim()) ? Number(slots) : null;
  const fits = number !== null && number <= MOST_SLOTS;
  const kept = floor.trim() === "" ? 0 : /^\d{1,7}$/.test(floor.trim()) ? Number(floor) : null;
  const floorFits = kept !== null && kept <= (number ?? MOST_SLOTS);
  const title = pool === null ? "New pool" : makes ? `Make pool ${pool.name}` : `Edit pool ${pool.name}`;

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (number === null || !fits || kept === null || !floorFits) return;
    save.mutate(
      { name: name.trim(), slots: number, description: description.trim(), scheduledFloor: kept },
      { onSuccess: onClose },
    );
  };

  return (
    <Dialog title={title} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        {pool === null && (
          <label>
            Name
            <input
              className="field"
              data-first
              required
              spellCheck={false}
              autoComplete="off"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
            <span className="help">As tasks name it in their option `pool`</span>
          </label>
        )}
        <label>
          Slots
          <input
            className="field"
            data-first={pool === null ? undefined : ""}
            inputMode="numeric"
            autoComplete="off"
            aria-invalid={slots !== "" && !fits}
            value={slots}
            onChange={(event) => setSlots(event.target.value)}
          />
          {slots !== "" && !fits ? (
            <span className="wrong" role="status">
              A whole number from 0 to 1,000,000
            </span>
          ) : (
            <span className="help">{slotsHelp(pool, number)}</span>
          )}
        </label>
        <label>
          Scheduled floor
          <input
            className="field"
            inputMode="numeric"
            autoComplete="off"
            aria-invalid={!floorFits}
            value={floor}
            onChange={(event) => setFloor(event.target.value)}
          />
          {floorFits ? (
            <span className="help">What runs by hand cannot take; empty: they may take all</span>
          ) : (
            <span className="wrong" role="status">
              A whole number, no more than the pool has
            </span>
          )}
        </label>
        <label>
          Description
          <input
            className="field"
            maxLength={500}
            placeholder="What it guards"
            value={description}
            onChange={(event) => setDescription(event.target.value)}
          />
        </label>
        {save.error !== null && (
          <p className="error-block" role="alert">
            {save.error.message}
          </p>
        )}
        <DialogFoot
          word={makes ? "Make the pool" : "Save"}
          onClose={onClose}
          disabled={!fits || !floorFits || name.trim() === "" || save.isPending}
        />
      </form>
    </Dialog>
  );
}

function slotsHelp(pool: Pool | null, slots: number | null): string {
  if (pool !== null && slots !== null && slots < pool.used)
    return `${pool.used} are in use: work under way goes on, and nothing new begins until fewer than ${slots} are`;
  if (slots === 0) return "0: whatever asks for slots waits";
  return "How many its tasks may hold at the same time";
}

export function DeletePool({ pool, onClose }: { readonly pool: Pool; readonly onClose: () => void }) {
  const remove = useDeletePool();
  return (
    <Dialog title={`Delete pool ${pool.name}`} onClose={onClose}>
      <p>
        Tasks that name it will wait until it is made again. A pool that has work, in use or waiting, is not
        deleted.
      </p>
      {remove.error !== null && (
        <p className="error-block" role="alert">
          {remove.error.message}
        </p>
      )}
      <div className="dialog-foot">
        <button type="button" className="button" data-first onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          className="button danger"
          disabled={remove.isPending}
          onClick={() => remove.mutate(pool.name, { onSuccess: onClose })}
        >
          Delete
        </button>
      </div>
    </Dialog>
  );
}
