import { Agent, request } from "node:http";

/** Connections stay open, as those of a client that triggers many. */
const agent = new Agent({ keepAlive: true });

/** One POST of JSON, by the lightest client that Node has: the load must not be the clients' own. */
export async function post(url: string, body: unknown): Promise<unknown> {
  return await new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: "POST", agent, headers: { "content-type": "application/json" } },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (text += chunk));
        response.on("error", reject);
        response.on("end", () => {
          const { statusCode = 0 } = response;
          if (statusCode < 200 || statusCode > 299) reject(new Error(`POST ${url}: ${statusCode} ${text}`));
          else resolve(JSON.parse(text));
        });
      },
    );
    sent.on("error", reject);
    sent.end(JSON.stringify(body));
  });
}
