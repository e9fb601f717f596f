// A client of the messenger, written from /docs/authentication.md and /docs/envelopes.md with Node's own modules alone.
// Usage: node aim_client.mjs ORIGIN. Prints what it saw as JSON; whatever the guides promise and does not hold, throws.
import assert from "node:assert/strict";
import { createHash, createPrivateKey, createPublicKey, randomBytes, sign, verify } from "node:crypto";
import http from "node:http";

const origin = process.argv[2];

function call(method, target, body = "", headers = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(origin + target, { method, headers }, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        const isJson = (response.headers["content-type"] ?? "").startsWith("application/json");
        resolve({ status: response.statusCode, headers: response.headers, text, json: isJson ? JSON.parse(text) : null });
      });
    });
    request.on("error", reject);
    request.end(body);
  });
}

const b64url = (bytes) => Buffer.from(bytes).toString("base64url");
const sha256 = (data) => createHash("sha256").update(data).digest();

function keyOf(seed) {
  const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
  const secret = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  return { secret, public: b64url(createPublicKey(secret).export({ format: "der", type: "spki" }).subarray(-32)) };
}

function publicKey(text) {
  const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), Buffer.from(text, "base64url")]);
  return createPublicKey({ key: der, format: "der", type: "spki" });
}

function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`);
  return `{${members.join(",")}}`;
}

const manifest = (await call("GET", "/.well-known/aim.json")).json;
const { authority } = manifest;
let offset = 0;

class Agent {
  constructor(seed) {
    this.key = keyOf(seed);
    this.authority = authority;
  }

  authorization(method, target, body) {
    const ts = Math.floor(Date.now() / 1000) + offset;
    const nonce = b64url(randomBytes(16));
    const lines = ["AIM2-HTTP", method, target, this.authority, sha256(body).toString("hex"), ts, nonce];
    const sig = b64url(sign(null, Buffer.from(lines.join("\n")), this.key.secret));
    return `AIM key="${this.key.public}", ts="${ts}", nonce="${nonce}", sig="${sig}"`;
  }

  async ask(method, target, document) {
    const body = document === undefined ? "" : JSON.stringify(document);
    const headers = { Authorization: this.authorization(method, target, body) };
    if (body) Object.assign(headers, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
    const answer = await call(method, target, body, headers);
    if (answer.json?.error?.code === "clock_skew" && !this.corrected) {
      this.corrected = true;
      offset += answer.json.error.details.server_time - (Math.floor(Date.now() / 1000) + offset);
      return this.ask(method, target, document);
    }
    return answer;
  }

  async register(name) {
    const given = (await call("POST", "/v2/challenges", "", { "Content-Length": 0 })).json;
    assert.equal(given.algorithm, "sha256-leading-zero-bits");
    let solution = 0;
    for (; ; solution += 1) {
      const hash = sha256(`AIM2-POW\n${given.challenge}\n${this.key.public}\n${solution}`);
      if (given.difficulty === 0 || hash.readUInt32BE(0) >>> (32 - given.difficulty) === 0) break;
    }
    const body = { public_key: this.key.public, challenge: given.challenge, solution: String(solution) };
    const answer = await this.ask("POST", "/v2/agents/register", name ? { ...body, name } : body);
    assert.equal(answer.status, 201, answer.text);
    this.address = answer.json.agent.address;
    this.cursor = answer.json.cursor;
    const again = await this.ask("POST", "/v2/agents/register", name ? { ...body, name } : body);
    assert.equal(again.status, 200, again.text);
    assert.equal(again.json.existing, true);
    return answer.json.agent;
  }

  write(to, body, more = {}) {
    const envelope = {
      id: `m${b64url(randomBytes(16))}`, from: this.address, to, type: "message",
      ts: new Date(Date.now() + offset * 1000).toISOString(), body, ...more,
    };
    return { ...envelope, sig: b64url(sign(null, sha256(canonical(envelope)), this.key.secret)) };
  }

  // The events until there are none, with the cursor kept after each page.
  async read() {
    const events = [];
    for (;;) {
      const answer = await this.ask("GET", `/v2/events?after=${this.cursor}&limit=2&wait=0`);
      assert.equal(answer.status, 200, answer.text);
      events.push(...answer.json.events);
      this.cursor = answer.json.cursor;
      if (!answer.json.has_more) return events;
    }
  }
}

async function isGenuine(envelope) {
  const name = envelope.from.split("@")[0];
  const { agent } = (await call("GET", `/v2/agents/${name}`)).json;
  const { sig, ...rest } = envelope;
  return verify(null, sha256(canonical(rest)), publicKey(agent.public_key), Buffer.from(sig, "base64url"));
}

// 1. What is public needs no key, and the manifest's addresses answer.
for (const path of [...Object.values(manifest.docs), manifest.openapi, manifest.policy]) {
  assert.equal((await call("GET", path)).status, 200, path);
}
const openapi = (await call("GET", manifest.openapi)).json;
for (const { method, path } of manifest.core) assert.ok(openapi.paths[path][method.toLowerCase()], path);

// 2. Two agents, one with a name of its own choice, one with that of its key; the second one's clock is wrong.
const alice = new Agent(randomBytes(32));
const bob = new Agent(randomBytes(32));
const named = `alice-${randomBytes(4).toString("hex")}`;
assert.equal((await alice.register(named)).name, named);
offset = 3_600;
const letters = "abcdefghijklmnopqrstuvwxyz234567";
const bits = [...sha256(Buffer.concat([Buffer.from("AIM2-KEY-NAME\n"), Buffer.from(bob.key.public, "base64url")]))]
  .map((byte) => byte.toString(2).padStart(8, "0")).join("");
const derived = `k-${Array.from({ length: 26 }, (_, at) => letters[parseInt(bits.slice(at * 5, at * 5 + 5), 2)]).join("")}`;
assert.equal((await bob.register()).name, derived);
assert.ok(Math.abs(offset) < 60, `the clock was corrected by ${offset}`);

// 3. A message with everything that implementations get wrong, sent twice; a reply; a batch in which one fails.
const body = { text: "héllo \u2028 😀", n: [1.0, -0, 1e21, 1e-7, 0.000001, 333333333.3333333], "\u{10000}": 1, "\uFFFD": 2, nul: "\u0000", nested: [null, { b: 1, a: [] }] };
const first = alice.write(bob.address, body);
const sent = await alice.ask("POST", "/v2/messages", first);
assert.equal(sent.status, 202, sent.text);
assert.equal(sent.json.duplicate, false);
const again = await alice.ask("POST", "/v2/messages", first);
assert.deepEqual([again.status, again.json.duplicate, again.json.charged], [202, true, 0]);
assert.equal(again.json.accepted_at, sent.json.accepted_at);

const lane = (await bob.ask("GET", "/v2/inbox?lane=requests")).json;
assert.equal(lane.items[0].sender, alice.address);
const reply = bob.write(alice.address, "yes", { reply_to: first.id });
assert.equal((await bob.ask("POST", "/v2/messages", reply)).status, 202);
const batch = { messages: [alice.write(bob.address, [1]), alice.write(`nobody-here@${authority}`, 1), alice.write(alice.address, "self")] };
const mixed = await alice.ask("POST", "/v2/messages", batch);
assert.equal(mixed.status, 207, mixed.text);
assert.deepEqual(mixed.json.results.map((each) => each.status), [202, 404, 202]);
assert.equal(mixed.json.results[1].error.code, "unknown_recipient");

// 4. Events: all of it, in order, each envelope as it was signed.
const seen = await bob.read();
const got = seen.filter((event) => event.message?.from === alice.address).map((event) => event.message);
assert.deepEqual(got.map((each) => each.id), [first.id, batch.messages[0].id]);
assert.equal(canonical(got[0]), canonical(first));
for (const envelope of got) assert.ok(await isGenuine(envelope));
assert.ok(!(await isGenuine({ ...got[0], body: "another" })));
assert.deepEqual(await bob.read(), []);
const own = await alice.read();
assert.ok(own.some((event) => event.message?.id === reply.id));

// 5. The thread, one message, removing it.
const thread = (await alice.ask("GET", `/v2/threads/${first.id}?in=${bob.address}`)).json;
assert.deepEqual(thread.items.map((item) => item.envelope.id), [first.id, reply.id]);
const one = await bob.ask("GET", `/v2/messages/${first.id}?in=${alice.address}`);
assert.equal(canonical(one.json.message.envelope), canonical(first));
assert.equal((await alice.ask("DELETE", `/v2/messages/${first.id}?in=${bob.address}`)).status, 200);
assert.ok((await bob.ask("GET", `/v2/messages/${first.id}?in=${alice.address}`)).json.tombstone);

// 6. What is refused says why.
const changed = { ...alice.write(bob.address, "x"), body: "y" };
const refused = await alice.ask("POST", "/v2/messages", changed);
assert.deepEqual([refused.status, refused.json.error.code], [422, "bad_envelope_signature"]);
alice.authority = "elsewhere.example";
const elsewhere = await alice.ask("GET", "/v2/inbox");
assert.deepEqual([elsewhere.status, elsewhere.json.error.code], [401, "bad_signature"]);
assert.equal(elsewhere.json.error.details.authority, authority);
alice.authority = authority;
const wrong = await alice.ask("GET", "/v2/events?after=garbage");
assert.deepEqual([wrong.status, wrong.json.error.code], [400, "invalid_cursor"]);

// 7. Contacts, settings, and the end of it.
const accepted = await alice.ask("PUT", `/v2/contacts/${derived}`, { state: "blocked" });
assert.equal(accepted.json.contact.state, "blocked");
const blocked = await bob.ask("POST", "/v2/messages", bob.write(alice.address, "?"));
assert.deepEqual([blocked.status, blocked.json.error.code], [403, "recipient_not_accepting"]);
assert.equal((await bob.ask("DELETE", "/v2/agents/me", { confirm: bob.address })).status, 200);
assert.equal((await bob.ask("GET", "/v2/inbox")).json.error.code, "agent_deleted");

console.log(JSON.stringify({ events: seen.length, date: typeof sent.headers.date, name: named }));
process.exit(0);
