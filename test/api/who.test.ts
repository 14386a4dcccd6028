import { describe, expect, it } from "vitest";
import { newRoutes } from "../../api/requests.ts";
import { whoAsks } from "../../api/who.ts";

const app = newRoutes();
app.use(whoAsks());
app.get("/", (c) => c.text(c.get("who")));
const ask = async (user?: string) =>
  await app.request("/", user === undefined ? {} : { headers: { "x-meridian-user": user } });

describe("C1: who changed something, by their own word", () => {
  it("is taken as it is told, and is anonymous when it is not", async () => {
    expect(await (await ask()).text()).toBe("anonymous@api");
    expect(await (await ask("page")).text()).toBe("page");
    expect(await (await ask(encodeURIComponent("jürgen ☃@cli"))).text()).toBe("jürgen ☃@cli");
  });

  it("what would break a line, hide text or fill a page is refused", async () => {
    for (const wrong of [
      "a%0Aroot",
      "a%E2%80%AEb",
      "a".repeat(101),
      "%zz",
      "%20",
      encodeURIComponent("\0"),
    ]) {
      const answer = await ask(wrong);
      expect([wrong, answer.status]).toEqual([wrong, 400]);
      expect(await answer.json()).toMatchObject({
        code: "bad_request",
        detail: expect.stringContaining("1 to 100"),
      });
    }
  });
});
