// The page of `getbit play`: choose a game, play it by clicks or keys, ask agents for advice. What may be played, and what is seen,
// comes from the server; nothing that is hidden from the player ever arrives here.

import { chart, createPlayer, html } from "./board.js";

const $ = (id) => document.getElementById(id);
const LETTERS = "ABCDEFG";
const RULES = {
  get_bit: "All choose a card at the same time. Cards that two robots play are tied, and tied robots don't move. Then, from the lowest untied card up, each robot swims to the front. The shark bites the robot at the back, but not in the first round: it loses a limb, swims to the front and takes its cards back. A hand that is down to two cards takes its table back. With four players and more, the front robot of the last two wins; with two or three, the first robot that goes out loses the game for its owner.",
  sharks_are_wild: "On your turn draw a card, then play or discard one. Your run starts with a 5 and grows at both ends. A Shark stands for the next number and pays a coin, and so does a run of five. Five coins win. At level two an Octopus steals the card at the end of another run, unless a Dolphin blocks it.",
};

let socket = null;
let session = read("getbit-session");
let games = [];
let proposal = {};
let film = null; // header of the game on the table
let player = null;
let standing = { choices: null, over: false, failure: null };
let settled = true;
let sent = false;
let picked = [];
let wanted = ""; // variant whose agents the form waits for
let listed = null; // what the server said of the form's variant
let advisers = null;
let tries = 0;
let hold = false; // the choice was made by a button that had the focus: the next one gets it
let watching = false; // the whole game is shown, once it is over

function read(key) {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}

function keep(key, value) {
  try {
    sessionStorage.setItem(key, value);
  } catch {
    // without storage a reload begins anew
  }
}

// --- the connection -----------------------------------------------------------------------------------------------------------------

function connect() {
  $("link").textContent = tries ? "Connection lost. Trying again …" : "Connecting …";
  socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/play`);
  socket.addEventListener("open", () => {
    tries = 0;
    $("link").textContent = "";
    send({ type: "hello", session });
  });
  socket.addEventListener("message", (event) => receive(JSON.parse(event.data)));
  socket.addEventListener("close", (event) => {
    if (event.code === 4001) {
      $("link").textContent = "This game goes on in another window. Reload to play it here.";
      return;
    }
    tries += 1;
    $("link").textContent = "Connection lost. Trying again …";
    setTimeout(connect, Math.min(8000, 300 * 2 ** tries));
  });
}

function send(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

const on = {
  welcome(message) {
    session = message.session;
    keep("getbit-session", session);
    games = message.games;
    proposal = message.choice ?? {};
    if (!film) setUp();
  },
  variant(message) {
    if (message.name === wanted) {
      listed = message;
      fillSeats();
    }
    if (film && message.name === film.variant) fillAdvisers(message);
  },
  game(message) {
    showGame(message);
  },
  frame(message) {
    sent = false;
    settled = false;
    standing = message;
    $("told").replaceChildren();
    for (const frame of message.frames) player?.append(frame);
    if (!message.frames.length) settled = true;
    showChoices();
  },
  advice(message) {
    if (message.number !== standing.choices?.number) return;
    const title = `${message.agent} would play`;
    $("told").replaceChildren(chart({ chances: message.advice.chances, value: null }, title), html("p", { id: "exact" }, film.solved ? "Exact value: being worked out. The first one of a game for four takes some minutes." : ""));
  },
  exact(message) {
    if (message.number !== standing.choices?.number) return;
    if ($("exact")) $("exact").textContent = message.exact ? `Exact value of the position for you: ${message.exact.value.toFixed(4)} (${message.exact.unit}, if all play the equilibrium)` : "";
  },
  film(message) {
    watching = true;
    const speed = player?.clock.speed ?? 1;
    player?.destroy();
    player = createPlayer($("player"), message.film, { speed });
    player.play();
  },
  page(message) {
    download(new Blob([message.html], { type: "text/html" }), message.name);
  },
  error(message) {
    sent = false;
    picked = [];
    say(message.message);
    if (!$("setup").hidden) {
      $("setup-error").textContent = message.message;
      $("message").textContent = "";
    }
    showChoices();
  },
};

function receive(message) {
  on[message.type]?.(message);
}

function say(text) {
  $("message").textContent = text;
}

// --- a new game ---------------------------------------------------------------------------------------------------------------------

function game() {
  return document.querySelector("input[name=game]:checked")?.value ?? "";
}

function setUp() {
  $("setup").hidden = false;
  $("game").hidden = true;
  if (!$("games").children.length) {
    $("games").replaceChildren(
      ...games.map(({ title, prefix }) => html("label", { class: "choice-pill" }, html("input", { type: "radio", name: "game", value: prefix }), title)));
    $("players").replaceChildren(...[2, 3, 4, 5, 6, 7].map((n) => html("option", { value: n }, n < 4 ? `${n} (two robots each)` : n)));
    propose(proposal.variant ?? "4p");
  }
  chooseVariant();
}

function propose(name) {
  // Set the form to a variant; one that the form does not show goes into the field for names.
  const sharks = /^sharks-([234])p-level([12])$/.exec(name);
  const bit = /^([2-7])p(-half)?(-pick1)?(-memory)?(-literal)?$/.exec(name);
  for (const input of document.querySelectorAll("input[name=game]")) input.checked = input.value === (name.startsWith("sharks-") ? "sharks-" : "");
  if (sharks) [$("sharks-players").value, $("level").value] = [sharks[1], sharks[2]];
  else if (bit) {
    $("players").value = bit[1];
    $("half").checked = Boolean(bit[2]);
    $("pick").value = bit[3] ? "1" : "2";
    $("memory").checked = Boolean(bit[4]);
    $("ending").value = bit[5] ? "literal" : "";
  } else {
    $("variant").value = name;
    $("other").open = true;
  }
}

function variantName() {
  const named = $("variant").value.trim();
  if (named) return named;
  if (game() === "sharks-") return `sharks-${$("sharks-players").value}p-level${$("level").value}`;
  const parts = [`${$("players").value}p`];
  if ($("half").checked) parts.push("half");
  if ($("pick").value === "1") parts.push("pick1");
  if ($("memory").checked) parts.push("memory");
  if ($("players").value === "3" && $("ending").value) parts.push("literal");
  return parts.join("-");
}

function chooseVariant() {
  for (const row of document.querySelectorAll("[data-for]")) row.hidden = (row.dataset.for === "sharks_are_wild") !== (game() === "sharks-");
  $("ending-label").hidden = $("players").value !== "3";
  wanted = variantName();
  listed = null;
  $("setup-error").textContent = "";
  $("setup-name").textContent = "";
  $("start").disabled = true;
  send({ type: "variant", name: wanted });
}

function fillSeats() {
  const before = [...$("seats").querySelectorAll("select")].map((select) => select.value);
  const me = document.querySelector("input[name=me]:checked")?.value ?? (proposal.seat === null ? "watch" : String(proposal.seat ?? 0));
  const { agents, players } = listed;
  const fallback = ["counter", "sharks-careful", "recall:counter"].find((name) => agents.includes(name)) ?? agents[0];
  const proposed = proposal.agents?.length ? proposal.agents : [];
  const choices = Array.from({ length: players }, (_, seat) => {
    const own = Number(me) < seat || me === "watch" ? seat - (me === "watch" ? 0 : 1) : seat;
    const agent = [before[seat], proposed.length ? proposed[own % proposed.length] : null, fallback].find((name) => agents.includes(name));
    const select = html("select", { "aria-label": `Agent of seat ${LETTERS[seat]}`, name: `agent-${seat}` }, ...agents.map((name) => html("option", { value: name, selected: name === agent }, name)));
    const radio = html("input", { type: "radio", name: "me", value: seat, checked: String(seat) === me, "aria-label": `Take seat ${LETTERS[seat]} yourself`, onchange: mark });
    return html("div", { class: `seat gb-p${seat}` }, html("b", {}, LETTERS[seat]), html("label", {}, radio, "you"), select);
  });
  const watch = html("label", { class: "seat" }, html("input", { type: "radio", name: "me", value: "watch", checked: me === "watch", onchange: mark }), "nobody: just watch");
  $("seats").replaceChildren(...choices, watch);
  if (!document.querySelector("input[name=me]:checked")) document.querySelector("input[name=me]").checked = true;
  mark();
  $("setup-name").textContent = listed.name;
  $("start").disabled = false;
}

function mark() {
  const me = document.querySelector("input[name=me]:checked")?.value;
  $("seats").querySelectorAll("select").forEach((select, seat) => (select.disabled = String(seat) === me));
  $("start").textContent = me === "watch" ? "Watch" : "Play";
}

function begin() {
  if (!listed) return;
  const me = document.querySelector("input[name=me]:checked")?.value;
  const seat = me === "watch" ? null : Number(me);
  const agents = [...$("seats").querySelectorAll("select")].map((select, number) => (number === seat ? null : select.value));
  $("start").disabled = true;
  send({ type: "new", variant: listed.name, seat, agents });
}

// --- the game -----------------------------------------------------------------------------------------------------------------------

function showGame(message) {
  const speed = player?.clock.speed ?? 1;
  player?.destroy();
  film = { ...message.film, solved: message.solved };
  standing = message;
  [sent, picked, settled, watching] = [false, [], true, false];
  say("");
  $("setup").hidden = true;
  $("game").hidden = false;
  $("again").disabled = false;
  $("start").disabled = false;
  $("told").replaceChildren();
  $("title").textContent = `${film.title} ${film.variant}`;
  document.title = $("title").textContent;
  $("rules").textContent = RULES[film.game] ?? "";
  player = createPlayer($("player"), { ...film, frames: message.frames }, { live: true, forget: !message.open, speed, onSettled: settle, onPause: showChoices });
  if (advisers?.name !== film.variant) send({ type: "variant", name: film.variant });
  else fillAdvisers(advisers);
  settle();
}

function settle() {
  settled = true;
  showChoices();
}

function showChoices() {
  const { choices, over, failure } = standing;
  const section = $("choices");
  const mine = film && film.viewer !== null;
  $("over").hidden = !(over && settled);
  $("advice").hidden = !(choices && settled);
  if (over && settled) showEnd(failure);
  section.setAttribute("class", mine ? `gb-p${film.viewer}` : "");
  if (!mine || over || watching) return section.replaceChildren();
  if (!choices || !settled) {
    const text = player && !player.playing ? "Paused: Space goes on, the full stop takes one step." : choices ? "" : "The others are playing.";
    return section.replaceChildren(html("p", {}, text));
  }
  section.replaceChildren(...(choices.kind === "cards" ? hands(choices) : deeds(choices)));
  if (hold && !sent) {
    const next = section.querySelector(`[data-robot="${picked.length}"]`) ?? section.querySelector("button:not(:disabled)");
    next?.focus({ preventScroll: true });
    hold = false;
  }
  return undefined;
}

function hands(choices) {
  const { robots, hands: cards } = choices;
  const turn = picked.length;
  const rows = robots.map((robot, i) => {
    const name = film.robots[robot].name;
    const title = robots.length === 1 ? "Play a card:" : `${name}, ${i === 0 ? "nearer the front" : "nearer the shark"}:`;
    const buttons = cards[i].map((card) =>
      html("button", { type: "button", class: "card", "data-robot": i, "data-card": card, "aria-label": `Play ${card} with robot ${name}`, "aria-pressed": robots.length > 1 ? String(picked[i] === card) : null, disabled: sent, onclick: () => pick(i, card) }, card));
    return html("div", { class: "hand", role: "group", "aria-label": title }, html("span", {}, title), ...buttons, i === turn && !sent ? html("kbd", {}, "keys 1–7") : null);
  });
  return [...rows, html("p", { role: "status" }, sent ? "Your choice is made. The others are choosing." : "")];
}

function pick(i, card) {
  if (sent || !standing.choices) return;
  keepFocus();
  picked[i] = card;
  const { robots, number } = standing.choices;
  const chosen = robots.map((_, robot) => picked[robot]);
  if (chosen.every((value) => value !== undefined)) {
    choose(number, chosen.reduce((action, value) => action * film.cards + value - 1, 0));
  } else showChoices();
}

function keepFocus() {
  // Who goes through the buttons by Tab goes on from there; who clicks or types has Space for the pause.
  hold = $("choices").contains(document.activeElement) && document.activeElement.matches(":focus-visible");
}

function deeds(choices) {
  const buttons = choices.actions.map(({ action, text }, i) =>
    html("button", { type: "button", class: "deed", "data-action": action, disabled: sent, onclick: () => choose(choices.number, action) }, i < 26 ? html("kbd", {}, String.fromCharCode(97 + i)) : null, " ", text));
  return [html("div", { class: "hand", role: "group", "aria-label": "Your turn" }, ...buttons), html("p", { role: "status" }, sent ? "Done." : "Your turn.")];
}

function choose(number, action) {
  if (!hold) keepFocus();
  sent = true;
  picked = [];
  say("");
  showChoices();
  send({ type: "play", number, action });
}

function showEnd(failure) {
  const places = film && player ? lastPlaces() : [];
  const winner = places.indexOf(1);
  const text = failure ? `The game ends: ${failure}.` : winner < 0 ? "The game is a draw." : film.viewer === winner ? "You win!" : `Player ${film.players[winner]} (${film.agents[winner] ?? "you"}) wins.`;
  const mine = film.viewer !== null && places[film.viewer] > 1 && film.players.length > 2 && film.game === "get_bit" ? ` You are number ${places[film.viewer]}.` : "";
  $("result").textContent = text + mine;
}

function lastPlaces() {
  return player.board.frame?.places ?? [];
}

function fillAdvisers(message) {
  advisers = message;
  const before = $("adviser").value;
  const best = [before, "equilibrium", "recall:equilibrium", "four_players_ppo", "two_players", "montecarlo", "sharks-montecarlo"].find((name) => message.agents.includes(name)) ?? message.agents[0];
  $("adviser").replaceChildren(...message.agents.map((name) => html("option", { value: name, selected: name === best }, name)));
}

function ask() {
  if (!standing.choices || $("advice").hidden) return;
  $("told").textContent = "Thinking …";
  send({ type: "advise", agent: $("adviser").value });
}

function download(blob, name) {
  const link = html("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function savePicture() {
  const copy = player.board.svg.cloneNode(true);
  const [, , width, height] = copy.getAttribute("viewBox").split(" ");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.setAttribute("class", `${copy.getAttribute("class")} gb-player`);
  const rules = await (await fetch("/board.css")).text();
  const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
  style.textContent = rules.replace("screen and (prefers-color-scheme: dark)", "not all"); // for paper
  copy.prepend(style);
  download(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }), `getbit-${film.variant}.svg`);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=radio]):not([type=checkbox]):not([type=range]), select, textarea, dialog")) return;
  const { choices } = standing;
  if (event.key === "?") {
    event.preventDefault();
    ask();
    return;
  }
  if (!choices || sent || $("game").hidden || watching) return;
  if (choices.kind === "cards" && /^[1-7]$/.test(event.key)) {
    event.preventDefault();
    if (!settled) player.finish();
    const robot = choices.robots.findIndex((_, i) => picked[i] === undefined);
    const card = Number(event.key);
    if (choices.hands[robot]?.includes(card)) pick(robot, card);
    else say(`${card} is not in that hand.`);
  } else if (choices.kind === "cards" && event.key === "Backspace") {
    event.preventDefault();
    picked = [];
    showChoices();
  } else if (choices.kind === "actions" && /^[a-z]$/.test(event.key)) {
    const chosen = choices.actions[event.key.charCodeAt(0) - 97];
    if (!chosen) return;
    event.preventDefault();
    if (!settled) player.finish();
    choose(choices.number, chosen.action);
  }
}

document.addEventListener("keydown", onKey);
$("setup").addEventListener("submit", (event) => {
  event.preventDefault();
  begin();
});
$("setup").addEventListener("change", (event) => {
  if (event.target.closest("#seats")) return;
  if (event.target.id !== "variant" && event.target.closest("fieldset")) $("variant").value = "";
  chooseVariant();
});
$("new").addEventListener("click", () => {
  setUp();
  $("start").focus();
});
for (const id of ["again", "rematch"]) $(id).addEventListener("click", () => send({ type: "again" }));
$("watch").addEventListener("click", () => send({ type: "film" }));
$("save").addEventListener("click", () => send({ type: "page" }));
$("picture").addEventListener("click", savePicture);
$("ask").addEventListener("click", ask);
$("help").addEventListener("click", () => $("about").showModal());
connect();
