import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DOCUMENTS, read, ROOT, withGenerated } from "./generated.ts";

describe("documents hold what the code says (`npm run generated` writes it)", () => {
  for (const path of DOCUMENTS.filter((name) => withGenerated(read(name)).includes("<!-- "))) {
    it(`${path}: snippets of files, settings, options`, async () => {
      await expect(withGenerated(read(path))).toMatchFileSnapshot(join(ROOT, path));
    });
  }

  it("README shows the DAG, the two commands and the settings", () => {
    const readme = withGenerated(read("README.md"));
    expect(readme).toContain(`\`\`\`ts\n${read("dags/hello.ts")}\`\`\``);
    expect(read("dags/hello.ts").split("\n").length).toBeLessThanOrEqual(16);
    expect(readme).toContain("npm install && npm start");
    expect(readme).toContain("npm install-test");
    expect(readme).toContain("| `MERIDIAN_HOME` | .meridian |");
    expect(withGenerated(readme.replace("MERIDIAN_HOME` | .meridian", "MERIDIAN_HOME` | elsewhere"))).toBe(
      readme,
    );
  });
});
