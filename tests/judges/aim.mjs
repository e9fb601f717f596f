// The messenger's signatures with nothing but Node.js: its crypto, JSON and sort. Reads {"vector", "texts"} from
// standard input; writes {"wrong": [what of the vector does not hold], "texts": [the RFC 8785 form of each text]}.
import { createHash, createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";

const sha256 = (data) => createHash("sha256").update(data).digest();
const hex = (data) => sha256(data).toString("hex");
const bytes = (text) => Buffer.from(text, "base64url");

// RFC 8785: JSON.stringify writes strings and numbers as it wants them, sort() compares UTF-16 code units.
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

function signed(key, message, signature) {
  const publicKey = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: key }, format: "jwk" });
  return verify(null, message, publicKey, bytes(signature));
}

function withoutSignature({ sig, ...rest }) {
  return canonical(rest);
}

function keyName(key) {
  const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  let bits = "";
  for (const byte of sha256(Buffer.concat([Buffer.from("AIM2-KEY-NAME\n"), bytes(key)]))) {
    bits += byte.toString(2).padStart(8, "0");
  }
  return `k-${bits.match(/.{5}/g).map((five) => alphabet[parseInt(five, 2)]).join("").slice(0, 26)}`;
}

// The Montgomery form of an Edwards point: u = (1 + y) / (1 - y), RFC 7748 section 4.1.
function x25519(key) {
  const p = 2n ** 255n - 19n;
  const power = (base, exponent) => {
    let result = 1n;
    for (; exponent > 0n; exponent >>= 1n, base = (base * base) % p) {
      if (exponent & 1n) result = (result * base) % p;
    }
    return result;
  };
  const y = BigInt(`0x${Buffer.from(bytes(key)).reverse().toString("hex")}`) & (2n ** 255n - 1n);
  const u = ((1n + y) * power((1n - y + p) % p, p - 2n)) % p;
  return Buffer.from(u.toString(16).padStart(64, "0"), "hex").reverse().toString("base64url");
}

function header(text) {
  return Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
}

function judge({ alice, bob, envelope, http, http_get: get, pow, sealed }) {
  const claims = {
    "alice key_name": keyName(alice.public_key) === alice.key_name,
    "bob key_name": keyName(bob.public_key) === bob.key_name,
    "alice x25519_public": x25519(alice.public_key) === alice.x25519_public,
    "bob x25519_public": x25519(bob.public_key) === bob.x25519_public,
    "envelope canonical_utf8": canonical(envelope.input) === envelope.canonical_utf8,
    "envelope sha256_hex": hex(envelope.canonical_utf8) === envelope.sha256_hex,
    "envelope sig": signed(alice.public_key, sha256(envelope.canonical_utf8), envelope.sig),
    "http sig": signed(alice.public_key, Buffer.from(http.signing_string), http.sig),
    "http body_sha256": http.signing_string.split("\n")[4] === http.body_sha256,
    "http_get sig": signed(alice.public_key, Buffer.from(get.signing_string), get.sig),
    "http_get body": get.signing_string.split("\n")[4] === hex(""),
    "pow sha256_hex":
      hex(`AIM2-POW\n${pow.challenge}\n${alice.public_key}\n${pow.solution}`) === pow.sha256_hex,
    "pow difficulty": BigInt(`0x${pow.sha256_hex}`) < 2n ** BigInt(256 - pow.difficulty),
    "sealed inner sig": signed(
      alice.public_key, sha256(withoutSignature(sealed.inner_signed)), sealed.inner_signed.sig,
    ),
    "sealed outer sig": signed(alice.public_key, sha256(withoutSignature(sealed.outer)), sealed.outer.sig),
    "sealed length": bytes(sealed.outer.body.ct).length === sealed.plaintext_len + 48,
    "sealed to_key": sealed.outer.body.to_key === bob.public_key,
  };
  const { key, ts, nonce, sig } = header(http.authorization);
  claims["http authorization"] =
    key === alice.public_key && sig === http.sig && http.signing_string.endsWith(`\n${ts}\n${nonce}`);
  return Object.keys(claims).filter((name) => !claims[name]);
}

const { vector, texts } = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(
  JSON.stringify({ wrong: judge(vector), texts: texts.map((text) => canonical(JSON.parse(text))) }),
);
