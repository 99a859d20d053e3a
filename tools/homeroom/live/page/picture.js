// SPDX-License-Identifier: MIT
// picture.js - draws a machine from its layout and frames (tools/homeroom/live/state.py): boards, CPUs, threads, memory, links.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const NONE = 255; // no home: a thread of the kernel
const HUES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#6f4fb0"]; // after Okabe and Ito
const DARK = new Set([4, 5]); // hues that need dark numbers
const LINK = ["#9aa0a6", "#7f95b5", "#8a8f5c", "#c9a227", "#e06c1f", "#c2152b"]; // share of a link: 0, 1/5 ... 1
const RUNS = 2, QUEUED = 1;
const FADE = 1.5, TRAILS = 100; // seconds that a trail is seen, and how many at most; as record.py has them
const CELL = { w: 54, h: 40 }, PAD = 8, TOP = 34, BAR = 12, LINK_ROW = 16, LINK_LABEL = 74;

const $ = (id) => document.getElementById(id);
const view = { layout: null, frame: null, before: null, cells: [], boards: [], links: [], chosen: null, dots: new Map(), places: new Map(), moves: [], slow: {} };

function make(parent, name, attributes, text) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    if (parent) parent.appendChild(node);
    return node;
}

function html(parent, name, text, attributes) {
    const node = document.createElement(name);
    if (text !== undefined) node.textContent = text;
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    if (parent) parent.appendChild(node);
    return node;
}

// A number with two to four digits and a unit, as make watch writes it.
function short(value) {
    for (const unit of ["", "k", "M", "G", "T"]) {
        if (Math.abs(value) < 1000) return (unit === "" || value >= 100 ? value.toFixed(0) : value.toFixed(1)) + unit;
        value /= 1000;
    }
    return value.toFixed(0) + "P";
}

// The shape of a home: circle, square, diamond for homes 0-7, 8-15, 16 and more; so colour is not all that tells homes apart.
function shape(home, r) {
    const kind = Math.floor(home / HUES.length) % 3;
    if (home === NONE || kind === 0) return `M ${-r} 0 A ${r} ${r} 0 1 0 ${r} 0 A ${r} ${r} 0 1 0 ${-r} 0 z`;
    if (kind === 1) return `M ${-r} ${-r} H ${r} V ${r} H ${-r} z`;
    const d = r * 1.35;
    return `M 0 ${-d} L ${d} 0 L 0 ${d} L ${-d} 0 z`;
}

const hue = (home) => (home === NONE ? "#777777" : HUES[home % HUES.length]);

// ---- the picture -------------------------------------------------------------------------------

function boardSize(board) {
    const columns = board.cpus.length > 4 ? Math.ceil(Math.sqrt(board.cpus.length)) : 2;
    const rows = Math.ceil(board.cpus.length / columns);
    return { columns, w: 2 * PAD + columns * CELL.w, h: TOP + BAR + 10 + rows * CELL.h + PAD + LINK_ROW };
}

// A node that selects something when it is clicked, or when Enter is pressed on it.
function pickable(node, kind, id, label) {
    node.classList.add("pick");
    for (const [key, value] of [["tabindex", "-1"], ["role", "button"], ["aria-label", label]]) node.setAttribute(key, value);
    const choose = () => select(kind, id);
    node.addEventListener("click", (event) => { event.stopPropagation(); choose(); });
    node.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); }
    });
}

// A button that selects what its data say.
function button(parent, kind, id, text) {
    const node = html(parent, "button", text, { type: "button", class: "link" });
    Object.assign(node.dataset, { kind, id });
    node.addEventListener("click", () => select(node.dataset.kind, node.dataset.id));
    return node;
}

function drawCpu(parent, id, x, y) {
    const group = make(parent, "g", { class: "cpu i", transform: `translate(${x} ${y})`, "data-cpu": id });
    make(group, "rect", { class: "cell", x: 1, y: 1, width: CELL.w - 2, height: CELL.h - 2, rx: 3 });
    make(group, "rect", { class: "fence", x: 2.5, y: 2.5, width: CELL.w - 5, height: CELL.h - 5, rx: 2 });
    make(group, "rect", { class: "set", x: 5.5, y: 5.5, width: CELL.w - 11, height: CELL.h - 11, rx: 1 });
    make(group, "path", { class: "cross", d: `M 6 6 L ${CELL.w - 6} ${CELL.h - 6} M 6 ${CELL.h - 6} L ${CELL.w - 6} 6` });
    make(group, "text", { class: "id", x: 7, y: 16 }, String(id));
    const queue = make(group, "text", { class: "id", x: CELL.w - 7, y: 16, "text-anchor": "end" }, "");
    pickable(group, "cpu", id, `CPU ${id}`);
    view.cells[id] = { group, queue, x: x + CELL.w / 2 + 8, y: y + CELL.h / 2 + 6 };
}

// `link`: where the board has the row of its link: "top" or "bottom".
function drawBoard(svg, number, board, x, y, link) {
    const size = boardSize(board), top = link === "top" ? y + LINK_ROW : y;
    const group = make(svg, "g", { "data-board": number });
    make(group, "rect", { class: "board frame", x, y, width: size.w, height: size.h, rx: 5 });
    make(group, "text", { x: x + PAD, y: top + 15, "font-size": 12, "font-weight": 600 }, `board ${number}`);
    const memory = make(group, "text", { class: "small", x: x + PAD, y: top + 28 }, `${board.mib} MiB`);
    const wide = size.w - 2 * PAD;
    make(group, "rect", { class: "memfree", x: x + PAD, y: top + TOP, width: wide, height: BAR });
    const used = ["home", "away", "shared", "file", "kernel"].map((kind) =>
        make(group, "rect", { class: `mem ${kind}`, x: x + PAD, y: top + TOP, width: 0, height: BAR }));
    pickable(group, "board", number, `board ${number}`);
    board.cpus.forEach((cpu, i) => {
        const column = i % size.columns, row = Math.floor(i / size.columns);
        drawCpu(svg, cpu, x + PAD + column * CELL.w, top + TOP + BAR + 10 + row * CELL.h);
    });
    view.boards[number] = { group, memory, used, wide, link, x, y, ...size };
}

// The link of a board to the switch: a gauge with a label in the board, and a line if the switch is beside this row.
function drawLink(svg, number, end) {
    const board = view.boards[number], up = board.link === "top";
    const y = up ? board.y + 5 : board.y + board.h - 14;
    const at = board.x + board.w / 2, wide = board.wide - LINK_LABEL, x = board.x + PAD + LINK_LABEL;
    const line = end === null ? null : make(svg, "path", { d: `M ${at} ${up ? board.y : board.y + board.h} V ${end}`, fill: "none" });
    const text = make(svg, "text", { class: "small", x: board.x + PAD, y: y + 9 }, "");
    const frame = make(svg, "rect", { class: "memfree", x, y, width: wide, height: 9 });
    const gauge = make(svg, "rect", { x, y, width: 0, height: 9 });
    view.links[number] = { line, gauge, text, frame, wide };
}

// How many boards stand in a row if there is room: all, or half of them if they stand above and below the crossbar.
const rowOf = (layout) => Math.ceil(layout.boards.length / (layout.crossbar && layout.boards.length > 1 ? 2 : 1));

// How many boards stand in a row in a window with `room` pixels.
function columnsOf(layout, each, room) {
    const wanted = rowOf(layout);
    const most = Math.max(2, Math.floor(room / (each * 0.62)));
    return most >= wanted ? wanted : Math.ceil(wanted / Math.ceil(wanted / most));
}

// Rows of boards above and below a switch, as the paper's Figures B-5 (bus) and B-6 (crossbar) have them.
function draw(layout) {
    document.body.classList.toggle("wide", rowOf(layout) > 6);
    const room = Math.max(300, $("picture").clientWidth || 640);
    const gap = 10, link = 24, thick = 30;
    const sizes = layout.boards.map(boardSize);
    const each = Math.max(...sizes.map((size) => size.w)), high = Math.max(...sizes.map((size) => size.h));
    const count = layout.boards.length, columns = columnsOf(layout, each + gap, room);
    const rows = Math.ceil(count / columns), above = layout.crossbar ? Math.ceil(rows / 2) : rows;
    const width = columns * (each + gap) + gap;
    const bar = gap + above * (high + gap) - gap + link;
    const svg = make(null, "svg", { role: "group", "aria-label": layout.title });
    view.cells = []; view.boards = []; view.links = []; view.dots.clear();
    layout.boards.forEach((board, i) => {
        const row = Math.floor(i / columns), lower = row >= above;
        const y = lower ? bar + thick + link + (row - above) * (high + gap) : gap + row * (high + gap);
        drawBoard(svg, i, board, gap + (i % columns) * (each + gap), y, lower ? "top" : "bottom");
        const beside = row === above - 1 ? bar : row === above ? bar + thick : null;
        if (count > 1) drawLink(svg, i, beside);
    });
    let height = bar - link;
    if (count > 1) {
        make(svg, "rect", { class: "switch", x: gap, y: bar, width: width - 2 * gap, height: thick, rx: 4 });
        const words = layout.crossbar ? `crossbar with ${count} ports` : "address bus and data crossbar";
        make(svg, "text", { x: width / 2, y: bar + 20, "font-size": 13, "text-anchor": "middle" }, words);
        height = rows > above ? bar + thick + link + (rows - above) * (high + gap) - gap : bar + thick;
    }
    view.trails = make(svg, "g", {});
    view.layer = make(svg, "g", {});
    svg.setAttribute("viewBox", `0 0 ${width} ${height + gap}`);
    svg.style.maxWidth = `${Math.round(width * 1.6)}px`;
    $("picture").replaceChildren(svg);
    view.drawn = room;
}

// The board of a CPU, and its lgroup: they have the same number.
const boardOf = (cpu) => view.layout.boards.findIndex((board) => board.cpus.includes(cpu));

const isChosen = (kind, id) => view.chosen !== null && view.chosen.kind === kind && view.chosen.id === id;

function updateCpus(frame) {
    frame.c.forEach(([state, set, , queued, , , fenced], id) => {
        const cell = view.cells[id];
        if (!cell) return;
        const broken = frame.e.some(([kind, , cpu]) => kind === "fence broken" && cpu === id);
        const marks = [set >= 0 && "inset", fenced && "fenced", broken && "broken", isChosen("cpu", id) && "selected"].filter(Boolean);
        const name = ["cpu pick", state, ...marks].join(" ");
        if (cell.name !== name) { cell.group.setAttribute("class", name); cell.name = name; }
        const words = queued ? `+${queued}` : "";
        if (cell.words !== words) { cell.queue.textContent = words; cell.words = words; }
    });
}

function newDot(tid, pid, home) {
    const group = make(view.layer, "g", { class: "dot", "data-thread": tid, role: "button", tabindex: "-1" });
    make(group, "path", { d: shape(home, 8.5), fill: hue(home) });
    make(group, "text", { y: 4, "font-size": 10, "text-anchor": "middle" }, home === NONE ? "k" : String(home));
    group.classList.toggle("dark", DARK.has(home % HUES.length));
    return { group, home, pid };
}

// The threads that have a dot: each that runs, and the first three that wait for a CPU; nth counts those.
function dotted(frame) {
    const waiting = new Map(), found = [];
    for (const [tid, [pid, , state, home, cpu]] of Object.entries(frame.h)) {
        const nth = waiting.get(cpu) || 0;
        if (!view.cells[cpu] || !(state === RUNS || (state === QUEUED && nth < 3))) continue;
        if (state === QUEUED) waiting.set(cpu, nth + 1);
        found.push({ tid, pid, state, home, cpu, nth });
    }
    return found;
}

// Where a thread ran last, and if it has moved since its last dot, the CPU before its last move; else -1.
function newPlace(was, pid, cpu) {
    if (!was || was.pid !== pid) return { pid, cpu, from: -1 };
    return { pid, cpu, from: was.cpu !== cpu ? was.cpu : was.from };
}

// Note where the threads of the next frame are, and the moves that have a trail (record.py does the same for the frames before
// a piece).  The trail of a thread that moved while it had no dot belongs to the frame with its next dot.
function follow(frame) {
    const before = view.places, dots = new Set(dotted(frame).map(({ tid }) => tid));
    view.places = new Map();
    view.moves = view.moves.filter(([w]) => frame.w - w < FADE);
    for (const [tid, [pid, , , , cpu]] of Object.entries(frame.h)) {
        const place = newPlace(before.get(tid), pid, cpu);
        view.places.set(tid, place);
        if (!dots.has(tid)) continue;
        if (view.cells[place.from]) view.moves.push([frame.w, place.from, cpu]);
        place.from = -1;
    }
    view.moves = view.moves.slice(-TRAILS);
}

function updateTrails(frame) {
    view.trails.replaceChildren();
    for (const [w, from, to] of view.moves) {
        const [a, b] = [view.cells[from], view.cells[to]], opacity = (0.7 * (1 - (frame.w - w) / FADE)).toFixed(2);
        make(view.trails, "path", { class: "trail", d: `M ${a.x} ${a.y} L ${b.x} ${b.y}`, fill: "none", opacity });
    }
}

// The dots; those of threads that wait are small.
function updateDots(frame) {
    const seen = new Set();
    for (const { tid, pid, state, home, cpu, nth } of dotted(frame)) {
        const cell = view.cells[cpu];
        let dot = view.dots.get(tid);
        if (dot && (dot.home !== home || dot.pid !== pid)) { dot.group.remove(); view.dots.delete(tid); dot = null; }
        if (!dot) { dot = newDot(tid, pid, home); view.dots.set(tid, dot); }
        seen.add(tid);
        const at = state === RUNS ? `translate(${cell.x} ${cell.y})` : `translate(${cell.x - 25 + nth * 10} ${cell.y + 6}) scale(0.5)`;
        if (dot.at !== at) { dot.group.setAttribute("transform", at); dot.at = at; }
        dot.group.classList.toggle("away", home !== NONE && home !== boardOf(cpu));
    }
    for (const [tid, dot] of view.dots) if (!seen.has(tid)) { dot.group.remove(); view.dots.delete(tid); }
}

function updateMemory(frame) {
    frame.n.forEach(([installed, free, ...used], i) => {
        const board = view.boards[i];
        if (!board || !installed) return;
        board.group.classList.toggle("selected", isChosen("board", i));
        let x = board.x + PAD;
        used.forEach((pages, kind) => {
            const wide = (board.wide * pages) / installed;
            board.used[kind].setAttribute("x", x.toFixed(1));
            board.used[kind].setAttribute("width", wide.toFixed(1));
            x += wide;
        });
        board.memory.textContent = `${Math.round(free / 256)} MiB free`;
    });
}

// The share of its link that each board has used since the frame before, in modelled time; null: not known.  A link carries
// one line at a time, in one direction or the other, so bytes out and bytes in count together.
function shares(frame, before) {
    if (!frame.b || !before || !before.b || !view.layout.link_mbps || frame.k <= before.k) return null;
    const seconds = (frame.k - before.k) / 1e12;
    return frame.b.map((board, i) => {
        const bytes = board[4] + board[5] - before.b[i][4] - before.b[i][5];
        return bytes / seconds / (view.layout.link_mbps * 1e6);
    });
}

// While the model counts but no modelled time has passed, the shares of before stay.
function updateLinks(frame, before) {
    const found = shares(frame, before);
    const stay = !found && frame.a && before && frame.k === before.k;
    view.links.forEach((link, i) => {
        if (stay && link.text.textContent) return;
        const share = found ? found[i] : 0, colour = LINK[Math.max(0, Math.min(5, Math.round(share * 5)))];
        link.gauge.setAttribute("width", (link.wide * Math.min(1, share)).toFixed(1));
        link.gauge.setAttribute("fill", colour);
        if (link.line) { link.line.setAttribute("stroke", colour); link.line.setAttribute("stroke-width", 3 + 9 * Math.min(1, share)); }
        link.text.textContent = found ? `link ${Math.round(share * 100)} %` : frame.b ? "link -" : "";
        link.frame.setAttribute("visibility", frame.b ? "visible" : "hidden");
    });
}
