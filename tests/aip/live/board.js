"use strict";
const board = document.body.dataset;
agentweb.publish({ board: { colour: board.colour, apiToken: "hunter2" }, of: "somebody else" });
agentweb.offer("paint", async ({ colour, coats }) => {
  board.colour = colour;
  agentweb.publish({ board: { colour } });
  return { painted: colour, coats: typeof coats, password: "hunter2" };
});
agentweb.offer("look", () => board.colour);
agentweb.offer("dawdle", () => new Promise(() => { board.dawdles = Number(board.dawdles || 0) + 1; }));
agentweb.offer("dawdle_and_look", () => new Promise((resolve) => { board.waits = "yes"; setTimeout(resolve, 60000); }));
agentweb.offer("hold", () => new Promise((resolve) => {
  board.holds = Number(board.holds || 0) + 1;
  window.release = () => resolve("held");
}));
agentweb.offer("cut", () => ({ half: "ab😀".slice(0, 3) }));
agentweb.offer("refuse", () => { throw agentweb.refusal("wet_paint", "The paint is wet; come back later."); });
agentweb.offer("fail", () => { throw new Error("secret internals"); });
agentweb.offer("undeclared", () => "nobody asked for this");
