import type { Shape } from "../workloads.ts";

/** A DAG file, ready to be written. */
export interface DagFile {
  readonly id: string;
  readonly text: string;
}

const dag = (id: string, options: string, body: string): DagFile => ({
  id,
  text: `import { dag, task } from "meridian";\ndag("${id}", { ${options} }, () => {\n${body}\n});\n`,
});

const MANUAL = "schedule: null, maxActiveRuns: 100";
const FIBO = "const fibo = (n: number): number => (n < 2 ? n : fibo(n - 1) + fibo(n - 2));";

/** The DAGs of a workload, as an author would write them. */
export function dagFiles(id: string, shape: Shape): readonly DagFile[] {
  switch (shape.kind) {
    case "empty":
      return [dag(id, MANUAL, "")];
    case "chain": {
      const body = shape.fibo === undefined ? "() => null" : `() => { ${FIBO} return fibo(${shape.fibo}); }`;
      const tasks = Array.from({ length: shape.tasks }, (_, i) => {
        const after = i === 0 ? "" : `{ after: [t${i - 1}] }, `;
        return `  const t${i} = task("t${String(i).padStart(2, "0")}", ${after}${body});`;
      });
      return [dag(id, MANUAL, [...tasks, `  void t${shape.tasks - 1};`].join("\n"))];
    }
    case "fan-out":
      return [
        dag(
          id,
          MANUAL,
          `  const root = task("root", () => null);
  const wide = Array.from({ length: ${shape.width} }, (_, i) => task(\`w\${i}\`, { after: [root] }, () => null));
  task("join", { after: wide }, () => null);`,
        ),
      ];
    case "mapped":
      return [
        dag(
          id,
          `${MANUAL}, defaults: { pool: "bench" }`,
          `  const item = Array.from({ length: ${shape.items} }, (_, i) => i);
  task("m", { expand: { item } }, () => null);`,
        ),
      ];
    case "burst":
      return roots(id, shape.runs, shape.tasksPerRun, MANUAL);
    case "clock":
      return roots(
        id,
        shape.runs,
        shape.tasksPerRun,
        'schedule: "* * * * *", startDate: "2026-01-01", catchup: false',
      );
  }
}

function roots(id: string, runs: number, tasks: number, options: string): DagFile[] {
  return Array.from({ length: runs }, (_, run) =>
    dag(`${id}_${run}`, options, `  for (let i = 0; i < ${tasks}; i++) task(\`r\${i}\`, () => null);`),
  );
}
