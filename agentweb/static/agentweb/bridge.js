"use strict";
// The page's side of the browser bridge: what it shows and can do, for the agents of the person who has it open.
//
//   agentweb.publish({cart: {lines: 2}})           members of the page's live state; undefined takes one back
//   agentweb.offer("sort_lines", async (input) => result)   a browser action that the site has declared for the page
//   throw agentweb.refusal("no_lines", "The cart is empty.")   says no to the agent, in the page's own words
//
// Without an address beside it (nobody has logged in, no page for agents) all of this is there and does nothing.
(() => {
  const { url, page, csrfHeader, csrfToken } = document.currentScript.dataset;
  const UNFIT = "The page has done this, and its answer cannot be sent: it is too large, or no JSON that the site takes.";
  const FIRST_WAIT = 500, LONGEST_WAIT = 30000, TOGETHER = 50, REMEMBERED = 200;

  const state = {}, handlers = new Map(), done = new Set();
  let tab = null, stream = null, wait = FIRST_WAIT, timer = null, sending = false, gone = false, careful = false;
  let news = {}, answers = [];

  class Refusal extends Error {
    constructor(code, message) {
      super(message);
      this.code = code;
    }
  }

  const plain = (value) => JSON.parse(JSON.stringify(value));

  // -- to the site: one request at a time, with all that has come up meanwhile

  function soon(delay) {
    if (url && !gone && !sending) {
      clearTimeout(timer);
      timer = setTimeout(send, delay);
    }
  }

  function changed(what) {
    news[what] = true;
    soon(TOGETHER);
  }

  function post(body, keepalive = false) {
    return fetch(url, {
      method: "POST",
      credentials: "same-origin",
      keepalive,
      headers: { "Content-Type": "application/json", [csrfHeader]: csrfToken },
      body: JSON.stringify(body),
    });
  }

  // Careful: one answer at a time and nothing beside it, to find the one that the site has refused.
  const isCareful = () => careful && tab && answers.length > 0;

  function message() {
    if (isCareful()) return { tab, answers: answers.slice(0, 1) };
    const body = tab ? { tab } : { page };
    if (!tab || news.state) body.state = state;
    if (!tab || news.offers) body.offers = [...handlers.keys()];
    if (tab && news.active) body.active = true;
    if (tab && answers.length) body.answers = answers.slice(0, 20);
    return body;
  }

  async function send() {
    const body = message(), alone = isCareful(), told = alone ? {} : news;
    sending = true;
    if (!alone) news = {};
    let again = null;
    try {
      const response = await post(body);
      const said = await response.json().catch(() => ({}));
      if (response.ok) {
        wait = FIRST_WAIT;
        if (body.answers) answers = answers.slice(body.answers.length);
        if (!answers.length) careful = false;
        if (!body.tab) tab = said.tab;
        if (Object.keys(news).length || answers.length) again = TOGETHER;
      } else {
        again = refused(response.status, said.error || {}, body, told, alone);
      }
    } catch {
      news = { ...told, ...news };
      again = later();
    }
    sending = false;
    if (gone) return;
    listen();
    if (again !== null) soon(again);
  }

  function refused(status, error, body, told, alone) {
    if (status === 404 && body.tab) {
      // The site has forgotten this tab, or the login is another one.
      hangUp();
      tab = null;
      return later();
    }
    if (status === 429 || status >= 500) {
      news = { ...told, ...news };
      return Math.max(later(), 1000 * (error.retry_after || 0));
    }
    console.error(`agentweb: ${error.code}: ${error.message}`, error.problems || "");
    if (body.answers && status !== 401 && status !== 403) {
      news = { ...told, ...news };
      if (alone) replace(answers.shift());
      careful = answers.length > 0;
      return 0;
    }
    if (status === 422 || status === 413) {
      // What the site has not declared is not offered again; anything else waits for the page's next change.
      const places = (error.problems || []).map((problem) => /^\/offers\/(\d+)$/.exec(problem.pointer));
      const unknown = places.filter(Boolean).map((place) => body.offers[place[1]]);
      if (unknown.filter((name) => handlers.delete(name)).length) {
        news = { ...told, ...news };
        return 0;
      }
    }
    return null;
  }

  // What the site cannot take is not sent again; the agent hears that instead, and the other answers go on.
  function replace({ call, error }) {
    if (!error) answers.unshift({ call, error: { code: "browser_failed", message: UNFIT } });
  }

  function later() {
    const now = wait * (0.75 + Math.random() / 2);
    wait = Math.min(wait * 2, LONGEST_WAIT);
    return now;
  }

  // -- from the site

  function listen() {
    if (!tab || stream || gone) return;
    stream = new EventSource(`${url}?tab=${encodeURIComponent(tab)}`);
    stream.addEventListener("call", (event) => run(JSON.parse(event.data)));
    stream.addEventListener("error", () => {
      // The browser comes again by itself, unless the site has refused.
      if (stream && stream.readyState === EventSource.CLOSED) {
        hangUp();
        tab = null;
        soon(later());
      }
    });
  }

  function hangUp() {
    if (stream) stream.close();
    stream = null;
  }

  async function run({ call, action, input }) {
    // A stream that broke may bring a call twice.
    if (done.has(call)) return;
    done.add(call);
    if (done.size > REMEMBERED) done.delete(done.values().next().value);
    const answer = { call };
    try {
      const handler = handlers.get(action);
      if (!handler) throw new Refusal("browser_failed", "The page does not offer this at the moment.");
      const result = await handler(input);
      answer.result = result === undefined ? null : plain(result);
    } catch (error) {
      if (!(error instanceof Refusal)) console.error(`agentweb: ${action} failed`, error);
      const known = error instanceof Refusal;
      answer.error = {
        code: known ? error.code : "browser_failed",
        message: known ? error.message.slice(0, 500) : "The page failed at this; a part of it may have been done.",
      };
    }
    answers.push(answer);
    soon(0);
  }

  // -- the page's own words

  window.agentweb = Object.assign(window.agentweb || {}, {
    publish(members) {
      for (const [name, value] of Object.entries(members)) {
        if (value === undefined) delete state[name];
        else state[name] = plain(value);
      }
      changed("state");
    },
    offer(name, handler) {
      handlers.set(name, handler);
      changed("offers");
      return () => {
        if (handlers.get(name) === handler) handlers.delete(name);
        changed("offers");
      };
    },
    refusal: (code, message) => new Refusal(code, message),
  });

  if (!url) return;
  // When the page's own deferred scripts have run, so that the first message has what they publish.
  if (document.readyState === "complete") soon(0);
  else document.addEventListener("DOMContentLoaded", () => soon(0));
  addEventListener("pagehide", () => {
    gone = true;
    clearTimeout(timer);
    hangUp();
    // With what was on its way: a handler may have left for another page.
    if (tab) post({ tab, closed: true, ...(answers.length && { answers: answers.slice(0, 20) }) }, true).catch(() => {});
    tab = null;
  });
  addEventListener("pageshow", (event) => {
    // Back from the browser's cache of pages.
    if (event.persisted) {
      gone = false;
      soon(0);
    }
  });
  addEventListener("focus", () => changed("active"));
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") changed("active");
  });
})();
