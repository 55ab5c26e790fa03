// The board of both games, drawn as SVG, and a player for films (`getbit_env.viewer.film`). A plain module: no build step, no requests.
//
//   createBoard(root, header)        a board: `show(frame)`, and `animate(before, frame, clock, tell)` for the events in between
//   createPlayer(root, film, options) a board with controls: play, pause, step, speed, a log
//
// All text is set as text, never as HTML. Positions and colours that change are attributes and custom properties of the style
// sheet, so that a strict policy (no inline styles) can hold.

const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

export function html(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const at = (x, y) => `translate(${x.toFixed(2)} ${y.toFixed(2)})`;
const mix = (a, b, share) => a + (b - a) * share;
const smooth = (t) => t * t * (3 - 2 * t);
const text = (value, x, y, size, kind = "", anchor = "middle") =>
  svg("text", { x, y, "font-size": size, class: `gb-text ${kind}`, "text-anchor": anchor, "dominant-baseline": "central" }, String(value));
const cut = (value, most) => (value.length > most ? `${value.slice(0, most - 1)}…` : value);
const ordinal = (place) => `${place}${["st", "nd", "rd"][place - 1] ?? "th"}`;

// --- time ---------------------------------------------------------------------------------------------------------------------

const STOPPED = Symbol("stopped");

export class Clock {
  // Runs animations one after the other; can be paused, stepped through, made faster, and stopped.
  constructor() {
    this.speed = 1;
    this.paused = false;
    this.turn = 0;
    this.granted = 0;
    this.waiting = [];
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
  }

  stop() {
    this.turn += 1;
    this.granted = 0;
    this.wake();
  }

  wake() {
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  resume() {
    this.paused = false;
    this.wake();
  }

  step() {
    this.granted += 1;
    this.wake();
  }

  async gate() {
    // Before an event: waits while paused, until a step is granted.
    const turn = this.turn;
    while (this.paused && this.granted === 0) {
      await new Promise((resolve) => this.waiting.push(resolve));
      if (turn !== this.turn) throw STOPPED;
    }
    if (turn !== this.turn) throw STOPPED;
    if (this.paused) this.granted -= 1;
  }

  async run(milliseconds, draw) {
    // Call `draw` with 0..1. With reduced motion it is drawn at its end, and stands there for as long.
    const turn = this.turn;
    let done = 0;
    let last = performance.now();
    if (this.calm.matches) draw(1);
    while (done < milliseconds) {
      await new Promise((resolve) => (document.hidden ? setTimeout(resolve, 50) : requestAnimationFrame(resolve)));
      if (turn !== this.turn) throw STOPPED;
      const now = performance.now();
      done += Math.min(now - last, 100) * this.speed;
      last = now;
      if (!this.calm.matches) draw(Math.min(1, done / milliseconds));
    }
    draw(1);
  }

  wait(milliseconds) {
    return this.run(milliseconds, () => {});
  }
}

// --- what both boards share -----------------------------------------------------------------------------------------------------

class Board {
  constructor(root, header) {
    this.root = root;
    this.header = header;
    this.svg = svg("svg", { class: "gb-board", role: "img", "preserveAspectRatio": "xMidYMid meet" });
    root.append(this.svg);
    this.narrow = null;
    this.frame = null;
    this.watch = new ResizeObserver(() => this.fit());
    this.watch.observe(root);
  }

  destroy() {
    this.watch.disconnect();
    this.svg.remove();
  }

  fit() {
    const narrow = this.root.clientWidth > 0 && this.root.clientWidth < this.widest * 0.6;
    if (narrow === this.narrow) return;
    this.narrow = narrow;
    this.build();
    if (this.frame) this.show(this.frame);
  }

  size(width, height) {
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.classList.toggle("gb-narrow", this.narrow);
  }

  name(player) {
    // What a player is called: "You", the name of its agent, or its letter.
    const letter = this.header.players[player];
    if (this.header.viewer === player && this.header.live) return "you";
    const agent = this.header.agents?.[player];
    return agent ? agent : `player ${letter}`;
  }

  called(letter, player, most) {
    // What stands on a label: the letter of a robot or player, and what its player is called.
    const { live, viewer, agents } = this.header;
    return (live && viewer === player) || agents?.[player] ? `${letter} ${cut(this.name(player), most)}` : `${this.header.game === "get_bit" ? "robot" : "player"} ${letter}`;
  }

  async animate(before, frame, clock, tell) {
    this.show(before);
    try {
      for (const event of frame.events) {
        await clock.gate();
        if (event.text) tell(event);
        await this.play(event, frame, clock);
      }
      this.show(frame);
      return true;
    } catch (reason) {
      if (reason !== STOPPED) throw reason;
      return false;
    }
  }
}

function cardShape(label, width, height, kind, extra = null) {
  const shape = svg("g", { class: `gb-card ${kind}` });
  shape.append(svg("rect", { x: -width / 2, y: -height / 2, width, height, rx: width / 5 }));
  if (label !== null) shape.append(text(label, 0, 0.5, width * 0.78, "gb-face"));
  else shape.append(svg("path", { class: "gb-back", d: `M${-width / 4} ${height / 5}L0 ${-height / 4}L${width / 4} ${height / 5}Z` }));
  if (extra) shape.append(extra);
  return shape;
}

// --- Get Bit! ---------------------------------------------------------------------------------------------------------------------
// In a wide window the line lies from left to right, its front at the left, the shark behind it. In a narrow one it lies from top to
// bottom, a row a robot.

const WIDE = { column: 132, left: 18, shark: 236, surface: 204, floor: 282, height: 400 };
const TALL = { width: 380, row: 70, top: 12, shark: 104 };
// Shoulder, elbow, hand; hip, knee, foot. Bites take limbs from the end of this list, half limbs from their far end.
const LIMBS = [
  [[-25, -56], [-44, -48], [-50, -80]],
  [[25, -56], [44, -48], [50, -80]],
  [[-13, -6], [-18, 20], [-22, 46]],
  [[13, -6], [18, 20], [22, 46]],
];
const MARKS = [
  "M0-17A17 17 0 1 1 0 17A17 17 0 1 1 0-17Z",
  "M-15-15H15V15H-15Z",
  "M0-20L19 14H-19Z",
  "M0-20L20 0L0 20L-20 0Z",
  "M-17-10L0-19L17-10V10L0 19L-17 10Z",
  "M0-21L6-8L20-7L9 3L13 17L0 9L-13 17L-9 3L-20-7L-6-8Z",
  "M-7-18H7V-7H18V7H7V18H-7V7H-18V-7H-7Z",
];

class LineBoard extends Board {
  constructor(root, header) {
    super(root, header);
    this.robots = header.robots.length;
    this.widest = WIDE.left + WIDE.column * this.robots + WIDE.shark;
    this.narrow = root.clientWidth > 0 && root.clientWidth < this.widest * 0.6;
    this.build();
  }

  build() {
    this.svg.replaceChildren();
    const height = this.narrow ? TALL.top + TALL.row * this.robots + TALL.shark : WIDE.height;
    const width = this.narrow ? TALL.width : this.widest;
    this.size(width, height);
    this.scenery(width, height);
    this.units = this.header.robots.map((robot) => {
      const unit = svg("g", { class: `gb-robot gb-p${robot.player}` });
      unit.figure = svg("g");
      unit.append(unit.figure);
      unit.panel = svg("g", { class: `gb-panel gb-p${robot.player}` });
      unit.played = svg("g", { class: `gb-played gb-p${robot.player}` });
      return unit;
    });
    this.shark = this.drawShark();
    this.under.append(...this.units, this.shark);
    const face = this.header.memory ? "table, face down" : "table";
    this.labels = svg("g");
    if (!this.narrow) this.labels.append(text("hand", 0, WIDE.floor + 56, 13, "gb-onsand", "start"), text(face, 0, WIDE.floor + 90, 13, "gb-onsand", "start"));
    this.above.append(this.labels, ...this.units.map((unit) => unit.panel), ...this.units.map((unit) => unit.played));
    this.spots = this.header.robots.map(() => [0, 0]);
  }

  scenery(width, height) {
    const id = `gb-${(LineBoard.count = (LineBoard.count ?? 0) + 1)}`;
    const wave = (y, high, long) => {
      let path = `M${-2 * long} ${y}`;
      for (let x = -2 * long; x < width + 2 * long; x += long) path += `q${long / 4} ${-high} ${long / 2} 0t${long / 2} 0`;
      return path;
    };
    const shade = (name, from, to) =>
      svg("linearGradient", { id: `${id}-${name}`, x1: 0, y1: 0, x2: 0, y2: 1 },
        svg("stop", { offset: 0, class: from }), svg("stop", { offset: 1, class: to }));
    this.svg.append(svg("defs", {},
      shade("sky", "gb-sky-high", "gb-sky-low"), shade("sea", "gb-sea-high", "gb-sea-low"),
      svg("clipPath", { id: `${id}-all` }, svg("rect", { width, height, rx: 18 }))));
    const scene = svg("g", { "clip-path": `url(#${id}-all)` });
    this.under = svg("g");
    this.above = svg("g");
    if (this.narrow) {
      scene.append(svg("rect", { width, height, fill: `url(#${id}-sea)` }));
      for (let row = 0; row < this.robots; row += 1)
        scene.append(svg("path", { class: "gb-ripple", d: wave(TALL.top + TALL.row * (row + 1) - 6, 2.5, 46) }));
      scene.append(text("front", 70, TALL.top + 2, 11, "gb-quiet", "start"), this.under, this.above);
    } else {
      const { surface, floor } = WIDE;
      scene.append(
        svg("rect", { width, height, fill: `url(#${id}-sky)` }),
        svg("circle", { class: "gb-sun", cx: width - 70, cy: 52, r: 26 }),
        svg("rect", { y: surface - 2, width, height: height - surface, fill: `url(#${id}-sea)` }),
        this.under,
        svg("path", { class: "gb-water gb-drift", d: `${wave(surface, 5, 72)}V${floor + 14}H-144Z` }),
        svg("path", { class: "gb-crest gb-drift", d: wave(surface, 5, 72) }),
        svg("path", { class: "gb-sand", d: `${wave(floor, 4, 190)}V${height}H-380Z` }),
        text("front", 12, surface + 30, 13, "gb-onsea", "start"),
        svg("path", { class: "gb-arrow", d: `M40 ${surface + 45}H14m7-6l-7 6l7 6` }),
        this.above,
      );
    }
    this.svg.append(scene);
  }

  drawShark() {
    const tooth = (x, y, up) => svg("path", { class: "gb-tooth", d: `M${x} ${y}l5 ${up ? -9 : 9}l5 ${up ? 7 : -6}Z` });
    const jaw = svg("g", { class: "gb-jaw" },
      svg("path", { class: "gb-belly", d: "M66 58L28 86C42 98 66 101 92 97C88 80 78 66 66 58Z" }),
      tooth(33, 83, true), tooth(42, 76, true), tooth(51, 69, true));
    this.jaw = jaw;
    this.catch = svg("g", { class: "gb-catch" });
    const shark = svg("g", { class: "gb-shark" },
      svg("path", { class: "gb-gullet", d: "M8 46L66 58L30 86C22 74 14 60 8 46Z" }),
      this.catch, jaw,
      svg("path", { class: "gb-hide", d:
        "M2 45C26 20 64 9 102 12C108-2 116-16 128-26C128-8 134 8 142 19C160 25 174 32 184 38C192 24 202 10 212 2C208 24 210 46 218 78C206 72 194 62 184 54C160 70 128 84 94 96C88 80 78 68 62 60C40 56 20 52 2 45Z" }),
      svg("path", { class: "gb-belly", d: "M94 96C128 84 160 70 184 54C150 62 108 68 72 62C82 70 90 82 94 96Z" }),
      svg("path", { class: "gb-hide", d: "M104 74C116 84 128 98 132 114C114 106 98 94 90 82Z" }),
      tooth(12, 47, false), tooth(23, 50, false), tooth(34, 53, false), tooth(45, 56, false),
      svg("circle", { class: "gb-eye", cx: 58, cy: 33, r: 6.5 }), svg("circle", { class: "gb-pupil", cx: 56, cy: 33.5, r: 3.4 }),
      svg("path", { class: "gb-brow", d: "M49 23L66 28" }),
      svg("path", { class: "gb-gill", d: "M92 42q-6 12-2 24M102 40q-6 13-2 26M112 39q-6 13-2 26" }));
    return shark;
  }

  // Where things are.

  spot(place) {
    return this.narrow ? [44, TALL.top + TALL.row * (place + 0.5)] : [WIDE.left + WIDE.column * (place + 0.5), WIDE.surface];
  }

  sunk(place, line) {
    // Where a robot that is out lies: behind the shark, in the order in which they went out.
    if (this.narrow) return [44, TALL.top + TALL.shark + TALL.row * (line + place + 0.5)];
    return [WIDE.left + WIDE.column * (line + place + 0.5) + WIDE.shark, WIDE.floor - 16];
  }

  den(line) {
    return this.narrow ? [96, TALL.top + TALL.row * line + 2] : [WIDE.left + WIDE.column * line - 4, WIDE.surface - 34];
  }

  put(robot, [x, y], hop = 0) {
    this.spots[robot] = [x, y];
    const unit = this.units[robot];
    unit.setAttribute("transform", `${at(x, y - hop)} scale(${this.narrow ? 0.42 : 1})`);
    const [dx, dy] = this.narrow ? [92, 0] : [0, 0];
    unit.panel.setAttribute("transform", this.narrow ? at(x + dx + 22, y + dy) : at(x, WIDE.floor));
    unit.played.setAttribute("transform", this.narrow ? at(x + 52, y - hop) : at(x, 36));
  }

  putShark([x, y], bite = 0) {
    this.den_ = [x, y];
    const scale = this.narrow ? 0.86 : 1;
    this.shark.setAttribute("transform", `${at(x, y)} scale(${scale})`);
    this.labels.setAttribute("transform", at(this.den(this.state.line.length)[0] + 24, 0));
    this.jaw.setAttribute("transform", `rotate(${(20 * bite).toFixed(1)} 66 58)`);
  }

  // What is seen.

  show(frame) {
    this.frame = frame;
    this.state = structuredClone(frame);
    frame.line.forEach((robot, place) => this.put(robot, this.spot(place)));
    frame.out.forEach((robot, place) => this.put(robot, this.sunk(place, frame.line.length)));
    this.putShark(this.den(frame.line.length));
    for (const robot of this.header.robots.keys()) {
      this.units[robot].classList.remove("gb-hit", "gb-eaten");
      this.drawRobot(robot);
      this.drawPanel(robot);
      this.drawCard(robot);
    }
    const eaten = frame.events.find((event) => event.kind === "end")?.eaten;
    if (frame.over && eaten !== null && eaten !== undefined) this.units[eaten].classList.add("gb-eaten");
    this.drawCatch(frame.bitten);
    this.svg.setAttribute("aria-label", this.describe(frame));
  }

  describe(frame) {
    const { robots } = this.header;
    const line = frame.line.map((robot) => {
      const entry = frame.robots[robot];
      const hand = entry.hand ? `hand ${entry.hand.join(" ")}` : `${entry.hand_size} cards in hand`;
      return `${robots[robot].name} (${this.name(robots[robot].player)}): ${entry.limbs} limbs, ${hand}`;
    });
    const out = frame.out.length ? ` Out: ${frame.out.map((robot) => robots[robot].name).join(", ")}.` : "";
    return `${this.header.title} ${this.header.variant}, ${frame.caption}. From the front: ${line.join("; ")}. Then the shark.${out}`;
  }

  drawRobot(robot) {
    const { header, state } = this;
    const { player, name } = header.robots[robot];
    const left = state.robots[robot].limbs;
    const figure = this.units[robot].figure;
    const winner = state.places[player] === 1;
    this.units[robot].classList.toggle("gb-out", left === 0);
    const parts = [];
    LIMBS.forEach((joints, number) => {
      let [had, has] = [2, left > 0 ? 2 : 0];
      if (header.half_limbs) has = Math.min(2, Math.max(0, left - 2 * number));
      else if (header.limbs <= 4) [had, has] = [2 * (number < header.limbs), 2 * (number < left)];
      if (had) parts.push(this.limb(joints, had, has, number >= 2));
    });
    const second = header.robots[robot - 1]?.player === player;
    const mast = second ? [-10, 10] : [0];
    if (winner) parts.push(svg("path", { class: "gb-crown", d: "M-19-96L-23-117L-10-107L0-121L10-107L23-117L19-96Z" }));
    else for (const dx of mast) parts.push(svg("path", { class: "gb-mast", d: `M${dx}-96V-108` }), svg("circle", { class: "gb-bulb", cx: dx, cy: -110, r: 4.5 }));
    parts.push(
      svg("rect", { class: "gb-body", x: -27, y: -68, width: 54, height: 68, rx: 13 }),
      svg("rect", { class: "gb-shine", x: -22, y: -63, width: 9, height: 56, rx: 4.5 }),
      svg("rect", { class: "gb-head", x: -23, y: -100, width: 46, height: 33, rx: 11 }),
      svg("path", { class: "gb-mouth", d: left === 0 ? "M-8-72q8-6 16 0" : winner ? "M-10-76q10 9 20 0" : "M-7-73H9" }));
    for (const x of [-10, 11]) {
      parts.push(svg("circle", { class: "gb-eye", cx: x, cy: -86, r: 7 }));
      parts.push(left > 0
        ? svg("circle", { class: "gb-pupil", cx: x + 2.6, cy: this.narrow ? -83.5 : -86, r: 3.3 })
        : svg("path", { class: "gb-cross", d: `M${x - 3.5}-89.5l7 7m0-7l-7 7` }));
    }
    parts.push(svg("path", { class: "gb-mark", transform: at(0, -35), d: MARKS[player] }), text(name, 0, -34.5, 22, "gb-letter"));
    if (header.limbs > 4 && !header.half_limbs || header.limbs > 8) parts.push(text(`${left}/${header.limbs}`, 0, -9, 15, "gb-count"));
    figure.replaceChildren(...parts);
    figure.setAttribute("transform", left === 0 ? (this.narrow ? at(0, 44) : "translate(0 34) rotate(-14) scale(.72)") : this.narrow ? at(0, 30) : at(0, 0));
  }

  limb(joints, had, has, foot) {
    const group = svg("g", { class: foot ? "gb-leg" : "gb-arm" });
    const path = (from, to) => "M" + joints.slice(from, to + 1).map((joint) => joint.join(" ")).join("L");
    if (has < had) {
      group.append(svg("path", { class: "gb-ghost", d: path(has, had) }));
      const [x, y] = joints[has];
      if (has === 0) group.append(svg("circle", { class: "gb-stump", cx: mix(x, joints[1][0], 0.22), cy: mix(y, joints[1][1], 0.22), r: 6 }));
      else group.append(svg("circle", { class: "gb-stump", cx: x, cy: y, r: 6 }));
    }
    if (has > 0) {
      group.append(svg("path", { class: "gb-limb-edge", d: path(0, has) }), svg("path", { class: "gb-limb", d: path(0, has) }));
      const [x, y] = joints[has];
      if (has === 2) group.append(foot
        ? svg("rect", { class: "gb-hand", x: x - 13, y: y - 6, width: 22, height: 12, rx: 6 })
        : svg("circle", { class: "gb-hand", cx: x, cy: y, r: 9 }));
      group.append(svg("circle", { class: "gb-joint", cx: joints[1][0], cy: joints[1][1], r: 2.6 }));
    }
    return group;
  }

  drawPanel(robot) {
    const { header, state } = this;
    const { player, name } = header.robots[robot];
    const { hand, table, hand_size, table_size, limbs } = state.robots[robot];
    const panel = this.units[robot].panel;
    const place = state.places[player];
    const who = this.called(name, player, this.narrow ? 14 : place ? 8 : 11);
    const parts = [];
    const mine = header.viewer === player;
    const cards = (list, count, kind) => (list ?? Array(count).fill(null)).map((card) => [card, list ? kind : `${kind} gb-down`]);
    const inHand = cards(hand, hand_size, "gb-inhand");
    const covered = header.memory ? (mine && header.live ? " gb-own" : " gb-covered") : "";
    const onTable = cards(table, table_size, `gb-ontable${covered}`);
    if (this.narrow) {
      parts.push(svg("rect", { class: `gb-pill${mine ? " gb-mine" : ""}`, x: -4, y: -32, width: 158, height: 21, rx: 10.5 }), text(who, 6, -21, 13, "gb-pilltext", "start"));
      if (place) parts.push(text(ordinal(place), 146, -21, 13, "gb-pilltext", "end"));
      if (limbs > 0) {
        const step = 24;
        inHand.forEach(([card, kind], i) => parts.push(this.small(card, 9 + step * i, 10, kind, 21, 29)));
        onTable.forEach(([card, kind], i) => parts.push(this.small(card, 9 + step * (i + inHand.length) + 14, 10, kind, 21, 29)));
        if (onTable.length) parts.push(svg("path", { class: "gb-divide", d: `M${9 + step * inHand.length - 5} -4V24` }));
      } else parts.push(text("out", 6, 8, 14, "gb-quiet", "start"));
      parts.push(this.pips(limbs, 162, -21));
    } else {
      parts.push(svg("rect", { class: `gb-pill${mine ? " gb-mine" : ""}`, x: -62, y: 8, width: 124, height: 25, rx: 12.5 }));
      if (place) parts.push(text(who, -52, 21, 14, "gb-pilltext", "start"), text(ordinal(place), 53, 21, 14, "gb-pilltext", "end"));
      else parts.push(text(who, 0, 21, 14, "gb-pilltext"));
      if (limbs > 0) {
        const step = 18.2;
        const first = (-step * (header.cards - 1)) / 2;
        const slots = hand ? hand.map((card) => [card, "gb-inhand", card - 1]) : inHand.map(([card, kind], i) => [card, kind, i]);
        for (let i = 0; i < header.cards; i += 1) parts.push(svg("rect", { class: "gb-slot", x: first + step * i - 8, y: 45, width: 16, height: 23, rx: 3.5 }));
        for (const [card, kind, i] of slots) parts.push(this.small(card, first + step * i, 56.5, kind, 16.5, 24));
        onTable.forEach(([card, kind], i) => parts.push(this.small(card, first + step * i, 90, kind, 16.5, 24)));
        if (!onTable.length) parts.push(text("table empty", 0, 90, 11, "gb-faint"));
      } else parts.push(text("out", 0, 60, 16, "gb-onsand"));
    }
    panel.replaceChildren(...parts);
  }

  pips(limbs, x, y) {
    // In a narrow window limbs are small: they are counted as well.
    const group = svg("g", { class: "gb-pips" });
    const most = this.header.limbs;
    if (most > 8) group.append(text(`${limbs}/${most}`, x + 20, y, 12, "gb-pilltext2"));
    else for (let i = 0; i < most; i += 1)
      group.append(svg("circle", { class: i < limbs ? "gb-pip" : "gb-pip gb-gone", cx: x + 6 + (i % 4) * 11, cy: y + (most > 4 ? (i < 4 ? -5 : 5) : 0), r: most > 4 ? 3.6 : 4.4 }));
    return group;
  }

  small(card, x, y, kind, width, height) {
    const shape = cardShape(card, width, height, kind);
    shape.setAttribute("transform", at(x, y));
    return shape;
  }

  drawCard(robot, flip = 1, back = false) {
    const { played } = this.units[robot];
    const { card, limbs } = this.state.robots[robot];
    played.replaceChildren();
    if (card === null || card === undefined || (limbs === 0 && this.state.bitten !== robot)) return;
    if (limbs === 0) return;
    const tied = this.state.tied.includes(robot);
    const [width, height] = this.narrow ? [28, 38] : [40, 52];
    const shape = cardShape(back ? null : card, width, height, `gb-large ${back ? "gb-down" : ""} ${tied && !back ? "gb-tied" : ""} ${this.lit === robot ? "gb-lit" : ""}`);
    shape.setAttribute("transform", `scale(${Math.max(0.02, flip).toFixed(3)} 1)`);
    played.append(shape);
    const badges = [];
    if (tied && !back) badges.push(["= tied", "gb-badge-tied"]);
    if (this.state.bitten === robot && !back) badges.push(["bitten", "gb-badge-bitten"]);
    const [wide, high, size] = this.narrow ? [38, 14, 9.5] : [52, 17, 12];
    badges.forEach(([label, kind], i) => {
      const spot = this.narrow ? at(36, badges.length === 1 ? 12 : -6 + 18 * i) : at(0, 38 + 18 * i);
      played.append(svg("g", { class: `gb-badge ${kind}`, transform: spot },
        svg("rect", { x: -wide / 2, y: -high / 2, width: wide, height: high, rx: high / 2 }), text(label, 0, 0.5, size)));
    });
  }

  drawCatch(robot) {
    this.catch.replaceChildren();
    if (robot === null || robot === undefined) return;
    this.catch.setAttribute("class", `gb-catch gb-p${this.header.robots[robot].player}`);
    this.catch.append(
      svg("path", { class: "gb-limb-edge", d: "M10 72L50 64" }), svg("path", { class: "gb-limb", d: "M10 72L50 64" }),
      svg("circle", { class: "gb-hand", cx: 8, cy: 73, r: 8.5 }));
  }

  // What happens.

  async play(event, frame, clock) {
    const play = this[`on_${event.kind}`];
    if (play) await play.call(this, event, frame, clock);
    else await clock.wait(600);
  }

  async on_start() {}

  async on_reveal(event, frame, clock) {
    const { state } = this;
    Object.assign(state, { tied: [], bitten: null });
    this.lit = null;
    this.drawCatch(null);
    event.cards.forEach((card, robot) => {
      const entry = state.robots[robot];
      entry.card = card;
      if (card === null) return;
      entry.hand_size -= 1;
      if (entry.hand) entry.hand = entry.hand.filter((other) => other !== card);
      this.drawPanel(robot);
      this.drawCard(robot, 1, true);
    });
    await clock.wait(450);
    const inPlay = event.cards.map((card, robot) => robot).filter((robot) => event.cards[robot] !== null);
    await clock.run(420, (t) => inPlay.forEach((robot) => this.drawCard(robot, Math.abs(1 - 2 * t), t < 0.5)));
    await clock.wait(350);
    state.tied = event.tied;
    inPlay.forEach((robot) => this.drawCard(robot));
    await clock.wait(event.tied.length ? 900 : 300);
    for (const robot of inPlay) {
      const entry = state.robots[robot];
      entry.table_size += 1;
      if (entry.table) entry.table = [...entry.table, event.cards[robot]];
      this.drawPanel(robot);
    }
  }

  async reorder(line, mover, clock, milliseconds) {
    const from = this.spots.map((spot) => [...spot]);
    const { units } = this;
    this.under.append(units[mover], this.shark);
    this.above.append(units[mover].panel, units[mover].played);
    await clock.run(milliseconds, (t) => {
      const share = smooth(t);
      line.forEach((robot, place) => {
        const [x, y] = this.spot(place);
        const hop = robot === mover ? Math.sin(Math.PI * t) * (this.narrow ? 0 : 44) : 0;
        const side = robot === mover && this.narrow ? Math.sin(Math.PI * t) * 16 : 0;
        this.put(robot, [mix(from[robot][0], x, share) + side, mix(from[robot][1], y, share)], hop);
      });
    });
    this.state.line = line;
  }

  async on_move(event, frame, clock) {
    const { robot, line } = event;
    const stays = this.state.line[0] === robot;
    this.lit = robot;
    this.drawCard(robot);
    await clock.wait(260);
    if (stays) {
      const spot = this.spot(0);
      await clock.run(420, (t) => this.put(robot, spot, Math.sin(Math.PI * t) * (this.narrow ? 6 : 22)));
    } else await this.reorder(line, robot, clock, 760);
    this.lit = null;
    this.drawCard(robot);
  }

  async lunge(robot, clock, onBite) {
    const home = [...this.den_];
    const [x, y] = this.spots[robot];
    const goal = this.narrow ? [x + 16, y - 34] : [x + 8, home[1]];
    await clock.run(380, (t) => this.putShark([mix(home[0], goal[0], smooth(t)), mix(home[1], goal[1], smooth(t))], -0.35 * t));
    await clock.run(150, (t) => this.putShark(goal, mix(-0.35, 1, t)));
    onBite();
    await clock.wait(220);
    await clock.run(420, (t) => this.putShark([mix(goal[0], home[0], smooth(t)), mix(goal[1], home[1], smooth(t))], mix(1, 0, t)));
  }

  async on_bite(event, frame, clock) {
    const { robot, limbs } = event;
    await this.lunge(robot, clock, () => {
      this.state.robots[robot].limbs = limbs;
      this.state.bitten = robot;
      this.units[robot].classList.add("gb-hit");
      this.drawCatch(robot);
      this.drawRobot(robot);
      this.drawCard(robot);
      this.drawPanel(robot);
    });
    this.units[robot].classList.remove("gb-hit");
    await clock.wait(250);
  }

  refill(robots, frame) {
    for (const robot of robots) {
      const { hand, table, hand_size, table_size } = frame.robots[robot];
      Object.assign(this.state.robots[robot], { hand, table, hand_size, table_size });
      this.drawPanel(robot);
    }
  }

  async on_escape(event, frame, clock) {
    await this.reorder(event.line, event.robot, clock, 900);
    this.refill([event.robot], frame);
    await clock.wait(300);
  }

  async on_out(event, frame, clock) {
    const { robot, line } = event;
    const from = [...this.spots[robot]];
    const shark = [...this.den_];
    const goal = this.sunk(0, line.length);
    const others = this.state.out.map((other) => [other, [...this.spots[other]]]);
    this.drawPanel(robot);
    await clock.run(900, (t) => {
      const share = smooth(t);
      const den = this.den(line.length);
      this.put(robot, [mix(from[0], goal[0], share), mix(from[1], goal[1], share)]);
      others.forEach(([other, spot], place) => {
        const to = this.sunk(place + 1, line.length);
        this.put(other, [mix(spot[0], to[0], share), mix(spot[1], to[1], share)]);
      });
      this.putShark([mix(shark[0], den[0], share), mix(shark[1], den[1], share)]);
    });
    Object.assign(this.state, { line, out: [robot, ...this.state.out] });
  }

  async on_take_back(event, frame, clock) {
    await clock.wait(250);
    this.refill(event.robots, frame);
    for (const robot of event.robots) this.units[robot].panel.classList.add("gb-pulse");
    await clock.wait(650);
    for (const robot of event.robots) this.units[robot].panel.classList.remove("gb-pulse");
  }

  async on_end(event, frame, clock) {
    if (event.eaten !== null) await this.lunge(event.eaten, clock, () => this.units[event.eaten].classList.add("gb-eaten"));
    this.state.places = event.places;
    const winner = this.state.line.filter((robot) => event.places[this.header.robots[robot].player] === 1);
    for (const robot of this.header.robots.keys()) {
      this.drawRobot(robot);
      this.drawPanel(robot);
    }
    await clock.run(900, (t) => winner.forEach((robot) => this.put(robot, this.spots[robot], Math.abs(Math.sin(3 * Math.PI * t)) * (this.narrow ? 6 : 24))));
  }
}

// --- Sharks are Wild ----------------------------------------------------------------------------------------------------------------
// A row a player. The numbers of all runs stand in the same columns, which makes runs easy to compare.

const RUNS = {
  wide: { width: 1040, piles: 104, row: 112, card: [40, 56], run: 168, step: 45, hand: 648, handStep: 46, middle: 60, handMiddle: 60, name: 18 },
  narrow: { width: 380, piles: 84, row: 138, card: [31, 43], run: 10, step: 36.4, hand: 10, handStep: 36.4, middle: 50, handMiddle: 106, name: 10 },
};
const NAMES = { S: "Shark", O: "Octopus", D: "Dolphin" };

class RunBoard extends Board {
  constructor(root, header) {
    super(root, header);
    this.widest = RUNS.wide.width;
    this.narrow = root.clientWidth > 0 && root.clientWidth < this.widest * 0.6;
    this.build();
  }

  build() {
    this.at = this.narrow ? RUNS.narrow : RUNS.wide;
    this.svg.replaceChildren();
    const { width, piles, row } = this.at;
    const height = piles + row * this.header.players.length + 8;
    this.size(width, height);
    this.still = svg("g");
    this.flying = svg("g");
    this.svg.append(svg("rect", { class: "gb-sea", width, height, rx: 18 }), this.still, this.flying);
  }

  // Where things are.

  draw() {
    return this.narrow ? [34, 40] : [60, 54];
  }

  heap() {
    return this.narrow ? [150, 40] : [270, 54];
  }

  slot(player, number) {
    const { run, step, piles, row, middle, card } = this.at;
    return [run + card[0] / 2 + step * (number - (this.narrow ? 0 : 0)), piles + row * player + middle];
  }

  held(player, index) {
    const { hand, handStep, piles, row, handMiddle, card } = this.at;
    const size = this.state.table[player].hand_size;
    const room = this.at.width - hand - card[0] - 14;
    const step = Math.min(handStep, room / Math.max(1, size - 1));
    return [hand + card[0] / 2 + step * index, piles + row * player + handMiddle];
  }

  card(letter, extra = null) {
    const [width, height] = this.at.card;
    if (letter === null) return cardShape(null, width, height, "gb-down");
    const shape = svg("g", { class: `gb-card gb-large gb-kind-${NAMES[letter] ? letter : "N"}` }, svg("rect", { x: -width / 2, y: -height / 2, width, height, rx: 6 }));
    const scale = width / 40;
    const art = svg("g", { transform: `scale(${scale})` });
    if (letter === "S") art.append(svg("path", { class: "gb-hide", d: "M-15 13C-10 4-4-10 8-17C6-6 10 4 15 13Z" }), svg("path", { class: "gb-swell", d: "M-17 17q4.2-4 8.5 0t8.5 0t8.5 0t8.5 0" }));
    else if (letter === "O") art.append(svg("path", { class: "gb-octo", d: "M-13-4A13 13 0 0 1 13-4V2C13 12 17 14 15 18C11 18 9 14 8 9C7 14 8 19 4 20C1 18 2 13 0 9C-2 13-1 18-4 20C-8 19-7 14-8 9C-9 14-11 18-15 18C-17 14-13 12-13 2Z" }), svg("circle", { class: "gb-eye", cx: -5, cy: -5, r: 3 }), svg("circle", { class: "gb-eye", cx: 5, cy: -5, r: 3 }));
    else if (letter === "D") art.append(svg("path", { class: "gb-dolphin", d: "M-17 3C-10-8 0-11 6-9C8-14 12-16 14-16C12-12 12-8 12-6C16-2 17 2 17 5C12 2 6 3 0 5C-6 7-10 11-13 17C-14 13-16 10-20 10C-17 8-16 6-17 3Z" }));
    else shape.append(text(letter, 0, 1, width * 0.78, "gb-face"));
    if (NAMES[letter]) shape.append(art, text(letter, -width / 2 + 7, -height / 2 + 8, 10 * scale, "gb-corner"));
    if (extra) shape.append(extra);
    return shape;
  }

  place(shape, [x, y]) {
    shape.setAttribute("transform", at(x, y));
    return shape;
  }

  show(frame) {
    this.frame = frame;
    this.state = structuredClone(frame);
    this.flying.replaceChildren();
    this.redraw();
    this.svg.setAttribute("aria-label", this.describe(frame));
  }

  describe(frame) {
    const players = frame.table.map((entry, player) => {
      const hand = entry.hand ? `hand ${entry.hand.map((card) => NAMES[card] ?? card).join(" ")}` : `${entry.hand_size} cards in hand`;
      return `${this.header.players[player]} (${this.name(player)}): ${entry.coins} coins, run ${[...entry.run].map((card) => NAMES[card] ?? card).join(" ")}, ${hand}`;
    });
    const top = frame.top ? `top of the discard pile ${NAMES[frame.top] ?? frame.top}` : "no discard pile";
    return `${this.header.title} ${this.header.variant}, ${frame.caption}. ${players.join("; ")}. ${frame.draw_size} cards in the draw pile, ${top}.`;
  }

  redraw() {
    const { state, header } = this;
    const { width, piles, row, card } = this.at;
    const parts = [svg("rect", { class: "gb-shore", x: 6, y: 6, width: width - 12, height: piles - 12, rx: 14 })];
    const pile = (spot, size, face, name) => {
      for (let i = Math.min(size, 3) - 1; i >= 0; i -= 1) parts.push(this.place(i === 0 && face ? this.card(face) : this.card(null), [spot[0] + 3 * i, spot[1] - 2 * i]));
      if (!size) parts.push(svg("rect", { class: "gb-slot", x: spot[0] - card[0] / 2, y: spot[1] - card[1] / 2, width: card[0], height: card[1], rx: 6 }));
      const x = spot[0] + card[0] / 2 + 14;
      parts.push(text(name, x, spot[1] - 9, this.narrow ? 12 : 15, "gb-onsand", "start"), text(size, x, spot[1] + 10, this.narrow ? 14 : 17, "gb-onsand gb-strong", "start"));
    };
    pile(this.draw(), state.draw_size, null, "draw");
    pile(this.heap(), state.discard_size, state.top, "discard");
    const chest = this.narrow ? [252, 40] : [440, 54];
    for (let i = 0; i < state.chest; i += 1) parts.push(this.coin(chest[0] + 13 * (i % 9), chest[1] - 8 + 18 * Math.floor(i / 9), 6.5, true));
    if (!this.narrow) {
      const counts = Object.entries(state.discarded).map(([kind, count]) => `${kind}×${count}`).join("  ");
      parts.push(text("discarded:", 590, 40, 13, "gb-onsand", "start"), text(cut(counts || "nothing", 64), 590, 62, 13.5, "gb-onsand", "start"));
    }
    state.table.forEach((entry, player) => parts.push(...this.player(entry, player, piles + row * player)));
    this.still.replaceChildren(...parts);
  }

  player(entry, player, y) {
    const { state, header } = this;
    const { width, row, card, name } = this.at;
    const acts = !state.over && player === (state.grab ? state.grab[0] : state.player);
    const won = state.places[player] === 1;
    const group = svg("g", { class: `gb-p${player}` });
    group.append(svg("rect", { class: `gb-lane${acts ? " gb-acts" : ""}${won ? " gb-won" : ""}`, x: 6, y: y + 3, width: width - 12, height: row - 6, rx: 14 }));
    const who = this.called(header.players[player], player, 13);
    const pill = this.narrow ? { x: name, y: y + 7, width: 150, height: 19 } : { x: name, y: y + 16, width: 136, height: 26 };
    group.append(svg("rect", { class: `gb-pill${header.viewer === player ? " gb-mine" : ""}`, ...pill, rx: pill.height / 2 }), text(who, pill.x + pill.width / 2, pill.y + pill.height / 2 + 0.5, this.narrow ? 12.5 : 14, "gb-pilltext"));
    const coins = Math.max(header.coins, entry.coins);
    for (let i = 0; i < coins; i += 1)
      group.append(this.narrow ? this.coin(176 + (Math.min(17, 130 / coins)) * i, y + 16.5, 7, i < entry.coins) : this.coin(30 + 22 * (i % 6), y + 62 + 20 * Math.floor(i / 6), 8.5, i < entry.coins));
    if (won) group.append(text("wins", width - 20, y + 16, 15, "gb-strong gb-ink", "end"));
    for (let number = 0; number <= 9; number += 1) {
      const [x, middle] = this.slot(player, number);
      group.append(svg("rect", { class: "gb-slot", x: x - card[0] / 2, y: middle - card[1] / 2, width: card[0], height: card[1], rx: 6 }), text(number, x, middle, this.narrow ? 12 : 15, "gb-hint"));
    }
    [...entry.run].forEach((letter, i) => {
      const number = entry.low + i;
      const mark = letter === "S" ? text(number, card[0] / 2 - 8, -card[1] / 2 + 9, this.narrow ? 11 : 14, "gb-stands") : null;
      const shape = this.place(this.card(letter, mark), this.slot(player, number));
      if (number === 5) shape.classList.add("gb-starter");
      if (state.grab && state.grab[0] === player && number === (state.grab[1] === 0 ? entry.low : entry.low + entry.run.length - 1)) shape.append(this.arms());
      group.append(shape);
    });
    const known = entry.hand ? [] : [...entry.taken];
    const hand = entry.hand ?? [...known, ...Array(Math.max(0, entry.hand_size - known.length)).fill(null)];
    hand.forEach((letter, i) => group.append(this.place(this.card(letter), this.held(player, i))));
    if (!this.narrow) group.append(text(entry.hand ? "hand" : "hand (hidden; cards taken openly are known)", this.at.hand, y + 17, 12, "gb-quiet2", "start"));
    if (!this.narrow) group.append(text("run", this.at.run, y + 17, 12, "gb-quiet2", "start"));
    return [group];
  }

  arms() {
    const [width, height] = this.at.card;
    const w = width / 2 + 3;
    return svg("g", { class: "gb-arms" }, svg("path", { d: `M${-w - 5} ${-height / 3}q12 2 14 8M${-w - 5} 0q12 2 14 8M${w + 5} ${-height / 3}q-12 2-14 8M${w + 5} 0q-12 2-14 8M0 ${height / 2 + 6}q-2-10 4-14` }));
  }

  coin(x, y, radius, there) {
    return svg("circle", { class: there ? "gb-coin" : "gb-coin gb-gone", cx: x, cy: y, r: radius });
  }

  async fly(letter, from, to, clock, milliseconds = 650) {
    const shape = this.card(letter);
    this.flying.append(shape);
    await clock.run(milliseconds, (t) => this.place(shape, [mix(from[0], to[0], smooth(t)), mix(from[1], to[1], smooth(t)) - Math.sin(Math.PI * t) * 22]));
    shape.remove();
  }

  leave(player, letter) {
    // A card leaves a hand; says from where.
    const entry = this.state.table[player];
    const shown = entry.hand ?? entry.taken;
    const index = Math.max(0, shown.indexOf(letter));
    const spot = this.held(player, index);
    if (shown.includes(letter)) shown.splice(index, 1);
    if (entry.hand && entry.taken.includes(letter)) entry.taken.splice(entry.taken.indexOf(letter), 1);
    entry.hand_size -= 1;
    this.redraw();
    return spot;
  }

  async play(event, frame, clock) {
    const { state } = this;
    const after = (player) => this.held(player, state.table[player].hand_size);
    switch (event.kind) {
      case "start":
        return;
      case "draw":
      case "refill":
        await this.fly(event.card ?? event.cards?.[0] ?? null, this.draw(), after(event.player), clock, 550);
        break;
      case "take":
        await this.fly(event.card, this.heap(), after(event.player), clock, 550);
        break;
      case "play": {
        const from = this.leave(event.player, event.card);
        await this.fly(event.card, from, this.slot(event.player, event.number), clock);
        break;
      }
      case "discard": {
        const from = this.leave(event.player, event.card);
        await this.fly(event.card, from, this.heap(), clock);
        Object.assign(state, { top: event.card, discard_size: state.discard_size + 1 });
        break;
      }
      case "octopus": {
        const from = this.leave(event.player, "O");
        await this.fly("O", from, this.slot(event.victim, this.endOf(event.victim, event.end)), clock, 800);
        state.grab = [event.victim, event.end];
        break;
      }
      case "block": {
        const from = this.leave(event.player, "D");
        await this.fly("D", from, this.heap(), clock);
        break;
      }
      case "steal":
        await this.fly(event.card, this.slot(event.victim, event.number), event.fits ? this.slot(event.player, event.number) : this.heap(), clock, 800);
        break;
      case "complete":
        this.still.classList.add("gb-pulse");
        await clock.wait(700);
        this.still.classList.remove("gb-pulse");
        break;
      default:
        await clock.wait(700);
    }
    const { table, top, discard_size, draw_size, discarded, chest } = frame;
    const last = frame.events.at(-1) === event;
    if (last) Object.assign(this.state, structuredClone(frame));
    else if (event.kind === "play" || event.kind === "steal") Object.assign(this.state, { chest, top: state.top, discard_size: state.discard_size, draw_size: state.draw_size, discarded: state.discarded });
    else if (event.kind !== "discard" && event.kind !== "octopus") Object.assign(this.state, structuredClone({ table, top, discard_size, draw_size, discarded, chest }));
    this.redraw();
    await clock.wait(last ? 150 : 350);
  }

  endOf(player, end) {
    const { low, run } = this.state.table[player];
    return end === 0 ? low : low + run.length - 1;
  }
}

export function createBoard(root, header) {
  return new (header.game === "get_bit" ? LineBoard : RunBoard)(root, header);
}

// --- the player ------------------------------------------------------------------------------------------------------------------------

const SPEEDS = [0.5, 1, 2, 4, 8, 16];
const ICONS = {
  start: "M5 4v16M20 4L8 12l12 8Z", back: "M17 4L5 12l12 8Z", play: "M6 4l14 8l-14 8Z", pause: "M7 4v16M17 4v16",
  step: "M5 4l10 8l-10 8ZM19 4v16", next: "M4 4l9 8l-9 8ZM12 4l9 8l-9 8Z", end: "M4 4l12 8l-12 8ZM20 4v16",
};

export function createPlayer(root, film, { keys = true, live = false, forget = false, speed: pace = 1, onSettled = () => {}, onPause = () => {} } = {}) {
  // `live`: frames are appended as a game goes on, and are played as they come. `forget`: only the last position is kept.
  const header = { ...film, live, frames: undefined };
  const frames = [...film.frames];
  const clock = new Clock();
  clock.speed = pace;
  let current = Math.max(0, live ? frames.length - 1 : 0);
  let moving = false;
  let playing = live;
  let run = 0;

  const stage = html("div", { class: "gb-stage" });
  const caption = html("strong", { class: "gb-caption" });
  const news = html("span", { class: "gb-news" });
  const loud = html("div", { class: "gb-hidden", "aria-live": "polite", role: "status" });
  const button = (icon, label, act) => {
    const one = html("button", { type: "button", title: label, "aria-label": label, onclick: act }, svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: ICONS[icon] })));
    return one;
  };
  const slider = html("input", { type: "range", min: 0, max: frames.length - 1, value: current, "aria-label": "Position in the game", oninput: () => go(Number(slider.value)) });
  const speed = html("select", { "aria-label": "Speed", onchange: () => (clock.speed = Number(speed.value)) }, ...SPEEDS.map((value) => html("option", { value, selected: value === pace }, `${value}×`)));
  const toggle = button("play", "Play (space)", () => (playing ? pause() : play()));
  const buttons = {
    start: button("start", "To the start (Home)", () => go(0)),
    back: button("back", "Back (left arrow)", () => go(current - (moving ? 0 : 1))),
    toggle,
    step: button("step", "One step (.)", () => step()),
    next: button("next", "Next (right arrow)", () => go(moving ? current : current + 1)),
    end: button("end", "To the end (End)", () => go(frames.length - 1)),
  };
  const shown = forget ? [toggle, buttons.step, buttons.end] : Object.values(buttons);
  const controls = html("div", { class: "gb-controls", role: "toolbar", "aria-label": "Replay" }, ...shown, forget ? null : slider, speed);
  const thoughts = html("div", { class: "gb-thoughts" });
  const log = html("ol", { class: "gb-log", "aria-label": "What happened", tabindex: 0 });
  const details = html("details", { class: "gb-history", open: !live }, html("summary", {}, live ? "What happened" : "Moves"), log);
  const box = html("div", { class: "gb-player", tabindex: keys === true ? null : 0 }, html("p", { class: "gb-head-line" }, caption, " ", news), stage, controls, thoughts, details, loud);
  root.replaceChildren(box);
  const board = createBoard(stage, header);

  function tell(event) {
    news.textContent = event.text;
    news.className = `gb-news gb-news-${event.kind}`;
  }

  function settle() {
    const frame = frames[current];
    slider.max = frames.length - 1;
    slider.value = current;
    caption.textContent = frame.caption;
    buttons.back.disabled = buttons.start.disabled = current === 0;
    buttons.end.disabled = !moving && current === frames.length - 1;
    buttons.next.disabled = buttons.step.disabled = !moving && current === frames.length - 1;
    const icon = playing && (live || moving || current < frames.length - 1) ? "pause" : "play";
    toggle.querySelector("path").setAttribute("d", ICONS[icon]);
    toggle.setAttribute("aria-label", icon === "pause" ? "Pause (space)" : "Play (space)");
    toggle.title = toggle.getAttribute("aria-label");
    for (const item of log.children) item.toggleAttribute("aria-current", Number(item.dataset.frame) === current);
    const now = log.querySelector("[aria-current]");
    if (now && details.open) log.scrollTop = now.offsetTop - log.clientHeight / 2;
    showThoughts(frame);
  }

  function showThoughts(frame) {
    thoughts.replaceChildren(...(moving ? [] : frame.thoughts ?? []).map((one) => chart(one, `${header.players[one.player]} ${board.name(one.player)}`)));
  }

  function record(frame, number) {
    const told = frame.events.map((event) => event.text).filter(Boolean);
    const item = html("li", { "data-frame": number }, html("button", { type: "button", onclick: () => go(number) }, html("b", {}, frame.caption), " ", told.join(" ")));
    if (forget) {
      item.replaceChildren(html("b", {}, frame.caption), " ", told.join(" "));
      log.replaceChildren(item);
    } else log.append(item);
  }

  function go(number) {
    run += 1;
    clock.stop();
    moving = false;
    current = Math.max(0, Math.min(frames.length - 1, number));
    if (!live) playing = false;
    board.show(frames[current]);
    const last = frames[current].events.filter((event) => event.text).at(-1);
    if (last) tell(last);
    settle();
    if (current === frames.length - 1) onSettled(frames[current]);
  }

  async function advance() {
    // Play the events that lead to the next frame, and those after it while playing.
    const mine = (run += 1);
    clock.stop();
    while (current < frames.length - 1 && mine === run) {
      moving = true;
      const before = frames[current];
      current += 1;
      settle();
      loud.textContent = frames[current].events.map((event) => event.text).filter(Boolean).join(" ");
      const whole = await board.animate(before, frames[current], clock, tell);
      if (!whole || mine !== run) return;
      moving = false;
      settle();
      if (current === frames.length - 1) onSettled(frames[current]);
      if (!playing) return;
      if (!live) {
        try {
          await clock.wait(500);
        } catch {
          return;
        }
      }
    }
    if (mine === run && !live && current === frames.length - 1) {
      playing = false;
      settle();
    }
  }

  function play() {
    playing = true;
    clock.resume();
    if (!moving) {
      if (!live && current === frames.length - 1) go(0), (playing = true);
      advance();
    }
    settle();
    onPause();
  }

  function pause() {
    playing = false;
    clock.paused = true;
    settle();
    onPause();
  }

  function step() {
    playing = false;
    clock.paused = true;
    onPause();
    if (!moving) advance();
    clock.step();
    settle();
  }

  function append(frame) {
    frames.push(frame);
    if (forget && frames.length > 2) {
      frames.splice(0, frames.length - 2);
      current = Math.min(current, 1);
      if (moving) {
        run += 1;
        clock.stop();
        moving = false;
        current = 0;
      } else current = 0;
    }
    record(frame, frames.length - 1);
    if (playing && !moving) advance();
    else settle();
  }

  function onKey(event) {
    const target = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || (target.closest && target.closest("input:not([type=range]),select,textarea,dialog"))) return;
    const on = { " ": () => (playing ? pause() : play()), ".": step, Home: () => go(0), End: () => go(frames.length - 1), ArrowLeft: () => go(current - (moving ? 0 : 1)), ArrowRight: () => go(moving ? current : current + 1),
      "+": () => faster(1), "-": () => faster(-1) }[event.key];
    if (!on || (event.key === " " && target.closest?.("button,summary"))) return;
    if (forget && ["Home", "ArrowLeft"].includes(event.key)) return;
    event.preventDefault();
    on();
  }

  function faster(by) {
    const index = Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(clock.speed) + by));
    clock.speed = SPEEDS[index];
    speed.value = String(clock.speed);
  }

  const listens = keys === true ? document : box;
  listens.addEventListener("keydown", onKey);
  frames.forEach(record);
  clock.paused = false;
  go(current);
  return {
    append, go, play, pause, step, board, clock, element: box,
    get playing() { return playing; },
    get moving() { return moving; },
    get atEnd() { return !moving && current === frames.length - 1; },
    finish: () => go(frames.length - 1),
    destroy: () => {
      run += 1;
      clock.stop();
      listens.removeEventListener("keydown", onKey);
      board.destroy();
      root.replaceChildren();
    },
  };
}

export function chart({ chances, value }, title) {
  // What somebody would play, as bars with numbers.
  const rows = chances.slice(0, 12).map(({ text: label, probability }) => {
    const bar = svg("svg", { class: "gb-bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { width: 100, height: 8, class: "gb-bar-back" }), svg("rect", { width: Math.max(0.5, 100 * probability), height: 8 }));
    return html("tr", {}, html("th", { scope: "row" }, label), html("td", {}, bar), html("td", {}, `${(100 * probability).toFixed(probability < 0.095 ? 1 : 0)} %`));
  });
  const worth = value === null || value === undefined ? null : html("p", {}, `Value: ${value.toFixed(4)}`);
  return html("div", { class: "gb-chart" }, html("table", {}, html("caption", {}, title), html("tbody", {}, ...rows)), worth);
}
