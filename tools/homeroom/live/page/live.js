// SPDX-License-Identifier: MIT
// live.js - draws a machine from its layout and frames (tools/homeroom/live/state.py): live from the server, or from a recording.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const NONE = 255; // no home: a thread of the kernel
const HUES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#6f4fb0"]; // after Okabe and Ito
const DARK = new Set([4, 5]); // hues that need dark numbers
const LINK = ["#9aa0a6", "#7f95b5", "#8a8f5c", "#c9a227", "#e06c1f", "#c2152b"]; // share of a link: 0, 1/5 ... 1
const RUNS = 2, QUEUED = 1;
const MARKS = { t: "first touch", s: "stolen", f: "fence broken", r: "reclaim" }; // as record.py names them
const THRESHOLDS = ["cachefree", "lotsfree", "desfree", "minfree", "throttlefree"]; // as kernel.py orders them
const CELL = { w: 54, h: 40 }, PAD = 8, TOP = 34, BAR = 12, LINK_ROW = 16, LINK_LABEL = 74;

const $ = (id) => document.getElementById(id);
const view = { layout: null, frame: null, before: null, cells: [], boards: [], links: [], chosen: null, dots: new Map(), slow: {} };

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
    for (const [key, value] of [["tabindex", "0"], ["role", "button"], ["aria-label", label]]) node.setAttribute(key, value);
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
    const group = make(view.layer, "g", { class: "dot", "data-thread": tid });
    make(group, "path", { d: shape(home, 8.5), fill: hue(home) });
    make(group, "text", { y: 4, "font-size": 10, "text-anchor": "middle" }, home === NONE ? "k" : String(home));
    group.classList.toggle("dark", DARK.has(home % HUES.length));
    return { group, home, pid, cpu: -1 };
}

function trail(from, to) {
    if (view.trails.childElementCount > 100) view.trails.firstChild.remove();
    const line = make(view.trails, "path", { class: "trail", d: `M ${from.x} ${from.y} L ${to.x} ${to.y}`, fill: "none" });
    line.addEventListener("animationend", () => line.remove());
}

// A dot for each thread that runs or waits for a CPU; the waiting ones are small.
function updateDots(frame) {
    const seen = new Set(), place = new Map();
    for (const [tid, [pid, , state, home, cpu]] of Object.entries(frame.h)) {
        const cell = view.cells[cpu];
        const nth = place.get(cpu) || 0;
        if (!cell || !(state === RUNS || (state === QUEUED && nth < 3))) continue;
        if (state === QUEUED) place.set(cpu, nth + 1);
        let dot = view.dots.get(tid);
        if (dot && (dot.home !== home || dot.pid !== pid)) { dot.group.remove(); view.dots.delete(tid); dot = null; }
        if (!dot) { dot = newDot(tid, pid, home); view.dots.set(tid, dot); }
        seen.add(tid);
        if (dot.cpu >= 0 && dot.cpu !== cpu && view.cells[dot.cpu]) trail(view.cells[dot.cpu], cell);
        dot.cpu = cpu;
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
    if (!frame.b || !before || !before.b || !view.layout.link_mbps || frame.m <= before.m) return null;
    const seconds = (frame.m - before.m) / 1e12;
    return frame.b.map((board, i) => {
        const bytes = board[4] + board[5] - before.b[i][4] - before.b[i][5];
        return bytes / seconds / (view.layout.link_mbps * 1e6);
    });
}

// While the model counts but no modelled time has passed, the shares of before stay.
function updateLinks(frame, before) {
    const found = shares(frame, before);
    const stay = !found && frame.a && before && frame.m === before.m;
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

// ---- words and numbers -------------------------------------------------------------------------

const STATE = { u: "user", s: "system", i: "idle", o: "off-line" };

// Fill a list with pairs of words, [key, value] or [key, value, kind, id]; the last have a button.  If the keys are those of before, nodes stay.
function rows(list, pairs) {
    const keys = pairs.map(([key]) => key).join("|");
    if (list.dataset.keys !== keys) {
        list.replaceChildren();
        list.dataset.keys = keys;
        for (const [key, , kind] of pairs) { html(list, "dt", key); const place = html(list, "dd"); if (kind) button(place, kind, "", ""); }
    }
    pairs.forEach(([, value, kind, id], i) => {
        const place = list.children[2 * i + 1], node = kind ? place.firstChild : place;
        if (kind) { node.dataset.id = id; node.disabled = id === ""; }
        if (node.textContent !== String(value)) node.textContent = value;
    });
}

const mib = (pages) => `${(pages / 256).toFixed(pages < 2560 ? 1 : 0)} MiB`;

// "0-3, 8" for [0, 1, 2, 3, 8].
function ranges(numbers) {
    const found = [];
    for (const n of numbers) {
        const last = found[found.length - 1];
        if (last && last[1] === n - 1) last[1] = n; else found.push([n, n]);
    }
    return found.map(([a, b]) => (a === b ? `${a}` : `${a}-${b}`)).join(", ");
}

function interruptsOf(id) {
    const found = view.slow.i ? Object.entries(view.slow.i[id] || {}) : [];
    return found.sort((a, b) => b[1] - a[1]).map(([name, rate]) => `${name} ${rate}`).join(", ") || "none";
}

function cpuDetails(frame, id) {
    const [state, set, tid, queued, user, system, fenced, rate] = frame.c[id];
    const thread = frame.h[tid];
    return [
        ["state", STATE[state] + (fenced ? ", no-intr" : "")], ["time", `user ${user} %, system ${system} %`],
        ["processor set", set >= 0 ? `set ${set}` : "none", "set", set >= 0 ? set : ""],
        ["runs", thread ? `${thread[1]}, thread ${tid} of ${thread[0] ? `process ${thread[0]}` : "the kernel"}` : "-", "thread", thread ? tid : ""],
        ["threads waiting", queued], ["interrupts", `${rate} a second`], ["by source", interruptsOf(id)],
        ["in the guest", `psrinfo -v ${id}; mpstat 1; intrstat -k 1`],
    ];
}

function boardDetails(frame, id) {
    const [installed, free, home, away, shared, file, kernel] = frame.n[id] || [0, 0, 0, 0, 0, 0, 0];
    const threads = Object.values(frame.h).filter((t) => t[3] === id).length;
    const pairs = [
        ["memory", `${mib(installed)}, ${mib(free)} free`], ["of its own threads", mib(home)], ["of threads elsewhere", mib(away)],
        ["shared", mib(shared)], ["files", mib(file)], ["kernel", mib(kernel)], ["threads at home", threads],
    ];
    if (frame.b) pairs.push(["misses", `${short(frame.b[id][2])} local, ${short(frame.b[id][3])} remote`]);
    return [...pairs, ["in the guest", `lgrpinfo ${id}; kstat -p mem:${id}: lgrp:${id}:`]];
}

function threadDetails(frame, tid) {
    const thread = frame.h[tid];
    if (!thread) return [["thread", "has ended"]];
    const [pid, name, , home, cpu, bound, set] = thread;
    return [
        ["name", name], ["process", pid || "the kernel"], ["home", home === NONE ? "none" : `board ${home}`, "board", home === NONE ? "" : home],
        ["on", `CPU ${cpu}`, "cpu", cpu], ["bound to", bound >= 0 ? `CPU ${bound}` : "-"],
        ["processor set", set >= 0 ? `set ${set}` : "none", "set", set >= 0 ? set : ""],
        ["in the guest", pid ? `plgrp ${pid}; pmap -L ${pid}` : "mpstat 1"],
    ];
}

function setDetails(frame, id) {
    const cpus = frame.c.flatMap((cpu, i) => (cpu[1] === id ? [i] : []));
    if (!cpus.length) return [["set", "does not exist now"]];
    const threads = Object.entries(frame.h).filter(([, t]) => t[6] === id), fenced = cpus.filter((i) => frame.c[i][6]);
    return [
        ["CPUs", ranges(cpus)], ["fenced off", fenced.length ? `CPUs ${ranges(fenced)}` : "no"], ["threads bound to it", threads.length],
        ["of them run", threads.filter(([, t]) => t[2] === RUNS).length],
        ["interrupts", `${cpus.reduce((sum, i) => sum + frame.c[i][7], 0)} a second`], ["in the guest", `psrset -i ${id}; psrset -q`],
    ];
}

const DETAILS = { cpu: cpuDetails, board: boardDetails, thread: threadDetails, set: setDetails };

function updateDetails(frame) {
    const box = $("details"), chosen = view.chosen;
    if (!chosen || !frame) { box.replaceChildren(html(null, "p", "Select a CPU, a thread, a board or a set for its counters.")); return; }
    const name = `${chosen.kind === "cpu" ? "CPU" : chosen.kind} ${chosen.id}`;
    if (!box.firstChild || box.firstChild.textContent !== name) box.replaceChildren(html(null, "h2", name), html(null, "dl"));
    rows(box.lastChild, DETAILS[chosen.kind](frame, chosen.id));
}

function updateSets(frame) {
    const sets = new Map();
    frame.c.forEach(([, set], id) => { if (set >= 0) sets.set(set, [...(sets.get(set) || []), id]); });
    const lines = [...sets].sort((a, b) => a[0] - b[0]).map(([set, cpus]) =>
        [set, `set ${set}: CPUs ${ranges(cpus)}${cpus.every((id) => frame.c[id][6]) ? ", fenced off" : ""}`]);
    const words = JSON.stringify(lines), box = $("sets");
    if (box.dataset.words === words) return;
    box.dataset.words = words;
    box.replaceChildren();
    if (!lines.length) return;
    html(box, "h2", "Processor sets");
    for (const [set, text] of lines) button(html(box, "p"), "set", set, text);
}

// The free memory of the machine and the page daemon's thresholds, on a logarithmic scale: more is to the right.
function drawFree(box, frame) {
    const sum = (i) => frame.n.reduce((all, node) => all + node[i], 0), total = sum(0), free = sum(1);
    const least = Math.max(1, Math.min(...view.slow.p) / 4), at = (pages) => 300 * Math.max(0, Math.min(1, Math.log(pages / least) / Math.log(total / least)));
    const svg = make(box, "svg", { viewBox: "0 0 300 30", class: "free", role: "img", "aria-label": "free memory and thresholds" });
    make(svg, "rect", { class: "memfree", x: 0, y: 8, width: 300, height: 12 });
    make(svg, "circle", { class: "now", cx: Math.max(6, Math.min(294, at(free))).toFixed(1), cy: 14, r: 5 });
    view.slow.p.forEach((pages, i) => {
        const line = make(svg, "path", { class: "tick", d: `M ${at(pages).toFixed(1)} ${4 + i} V 24` });
        make(line, "title", {}, `${THRESHOLDS[i]}: ${mib(pages)}`);
    });
    const words = [...new Map(view.slow.p.map((pages, i) => [pages, THRESHOLDS.filter((_, j) => view.slow.p[j] === pages).join(", ")]))];
    html(box, "p", `Dot: ${mib(free)} free now. Lines, the thresholds: ${words.map(([pages, names]) => `${names} ${mib(pages)}`).join("; ")}.`);
}

function updateDisks(frame) {
    const box = $("disks");
    if (!frame.d) { if (box.firstChild) box.replaceChildren(); return; }
    const lines = frame.d.map(([name, waiting, running, reads, writes]) =>
        [name, String(waiting), String(running), `${short(reads)}B/s`, `${short(writes)}B/s`]);
    const words = JSON.stringify([lines, view.slow.p, frame.n.map((node) => node[1])]);
    if (box.dataset.words === words) return;
    box.dataset.words = words;
    const table = html(null, "table"), head = html(html(table, "thead"), "tr"), body = html(table, "tbody");
    ["disk", "waiting", "at the device", "read", "written"].forEach((name) => html(head, "th", name, { scope: "col" }));
    for (const cells of lines) { const row = html(body, "tr"); cells.forEach((text, i) => html(row, i ? "td" : "th", text)); }
    box.replaceChildren(html(null, "h2", "Disks and the page daemon"), table);
    if (view.slow.p) drawFree(box, frame);
}

function select(kind, id) {
    view.chosen = { kind, id: kind === "thread" ? String(id) : Number(id) };
    if (view.frame) show(view.frame);
}

// The same columns as make watch, since the model was armed.
function updateNumbers(frame) {
    const box = $("numbers");
    if (!frame.b) { if (box.firstChild) box.replaceChildren(); return; }
    const names = ["board", "active", "instr", "local", "remote", "rem %", "out", "in", "GB/s"];
    const seconds = frame.m / 1e12;
    const line = (name, active, b, moved) => [
        name, active, ...b.slice(1, 4).map(short), b[2] + b[3] ? Math.round((100 * b[3]) / (b[2] + b[3])) : "-",
        short(b[4]), short(b[5]), seconds > 0 ? (moved / seconds / 1e9).toFixed(2) : "-",
    ];
    const total = frame.b.reduce((sum, b) => sum.map((v, i) => v + b[i]), [0, 0, 0, 0, 0, 0]);
    const cpus = frame.c.length;
    const lines = frame.b.map((b, i) => line(i, b[0], b, b[4] + b[5]));
    lines.push(line("all", `${total[0]} of ${cpus}`, total, total[4]));
    if (!view.table || !box.contains(view.table) || view.table.tBodies[0].rows.length !== lines.length) {
        view.table = html(null, "table");
        const head = html(html(view.table, "thead"), "tr");
        names.forEach((name) => html(head, "th", name, { scope: "col" }));
        const body = html(view.table, "tbody");
        lines.forEach((cells) => { const row = html(body, "tr"); cells.forEach((_, i) => html(row, i ? "td" : "th")); });
        box.replaceChildren(html(null, "h2", "Boards: totals of the model, as make watch prints them"), view.table);
    }
    lines.forEach((cells, i) => cells.forEach((text, j) => {
        const cell = view.table.tBodies[0].rows[i].cells[j];
        if (cell.textContent !== String(text)) cell.textContent = text;
    }));
}

function addEvents(frame) {
    const list = $("lines");
    for (const [kind, text, cpu] of frame.e) {
        const line = html(null, "li");
        const word = html(line, "b");
        if (cpu >= 0) button(word, "cpu", cpu, kind); else word.textContent = kind;
        line.append(` ${text} (${frame.w.toFixed(1)} s)`);
        list.prepend(line);
    }
    while (list.childElementCount > 200) list.lastChild.remove();
}

function legend() {
    const list = html(null, "ul");
    const entry = (draw, words) => {
        const item = html(list, "li");
        const svg = make(null, "svg", { viewBox: "0 0 22 16", "aria-hidden": "true" });
        draw(svg);
        item.append(svg);
        html(item, "span", words);
    };
    const cell = (name) => (svg) => {
        const group = make(svg, "g", { class: `cpu ${name}` });
        make(group, "rect", { class: "cell", x: 1, y: 1, width: 20, height: 14, rx: 2 });
        make(group, "rect", { class: "fence", x: 2.5, y: 2.5, width: 17, height: 11 });
        make(group, "rect", { class: "set", x: 3, y: 3, width: 16, height: 10 });
        make(group, "path", { class: "cross", d: "M 4 3 L 18 13 M 4 13 L 18 3" });
    };
    const dot = (name, scale = 1) => (svg) => {
        const group = make(svg, "g", { class: `dot ${name}`, transform: `translate(11 8) scale(${scale})` });
        make(group, "path", { d: shape(0, 6.5), fill: hue(0) });
        make(group, "text", { y: 3.5, "font-size": 9, "text-anchor": "middle" }, "0");
    };
    entry(cell("u"), "CPU in user mode"); entry(cell("s"), "in the kernel"); entry(cell("i"), "idle"); entry(cell("o"), "off-line");
    entry(cell("i inset"), "in a processor set"); entry(cell("i fenced"), "fenced off from interrupts");
    entry(dot(""), "thread; number, colour and shape: its home"); entry(dot("away"), "thread away from home");
    entry(dot("", 0.7), "thread that waits; +2: two wait"); entry((svg) => make(svg, "path", { class: "trail still", d: "M 2 13 L 20 3" }), "a thread has moved");
    for (const [kind, words] of [["home", "memory of threads that live here"], ["away", "of threads that live elsewhere"],
        ["shared", "shared memory"], ["file", "files"], ["kernel", "the kernel's"], ["free", "free memory"]])
        entry((svg) => make(svg, "rect", { class: `mem ${kind}`, x: 1, y: 3, width: 20, height: 10 }), words);
    entry((svg) => LINK.forEach((fill, i) => make(svg, "rect", { x: 1 + i * 3.4, y: 3, width: 3.4, height: 10, fill })), "link: 0 to 100 % of its bandwidth");
    $("legend").replaceChildren(html(null, "h2", "Legend"), list);
    $("events").prepend(html(null, "h2", "Events"));
}

// ---- frames ------------------------------------------------------------------------------------

function show(frame) {
    view.frame = frame;
    for (const key of ["i", "p"]) if (frame[key]) view.slow[key] = frame[key];
    updateCpus(frame); updateDots(frame); updateMemory(frame); updateLinks(frame, view.before);
    updateDetails(frame); updateSets(frame); updateDisks(frame); updateNumbers(frame);
    view.shown = (view.shown || 0) + 1;
}

function next(frame) {
    view.before = view.frame;
    show(frame);
    addEvents(frame);
    const running = Object.values(frame.h).filter((t) => t[2] === RUNS).length;
    $("status").textContent = `after ${frame.w.toFixed(1)} s; the machine's clock: ${frame.t.toFixed(2)} s; ${running} threads run` +
        (frame.b ? "" : "; without the model");
}

function begin(layout) {
    view.layout = layout;
    $("title").textContent = layout.title;
    document.title = `${layout.title} - Homeroom, live`;
    draw(layout);
    legend();
    updateDetails(null);
    let timer = 0;
    window.addEventListener("resize", () => {
        clearTimeout(timer);
        timer = setTimeout(() => { if (Math.abs($("picture").clientWidth - view.drawn) > 40) { draw(layout); if (view.frame) show(view.frame); } }, 200);
    });
    $("picture").addEventListener("click", (event) => {
        const dot = event.target.closest("[data-thread]");
        if (dot) select("thread", dot.getAttribute("data-thread"));
    });
}

async function live() {
    $("status").textContent = "connecting";
    const layout = await (await fetch("layout")).json();
    begin(layout);
    const source = new EventSource("frames");
    source.onmessage = (message) => next(JSON.parse(message.data));
    source.addEventListener("end", (message) => { source.close(); view.ended = message.data; $("status").textContent = message.data; });
    source.onerror = () => { if (source.readyState === EventSource.CONNECTING) $("status").textContent = "the server does not answer"; };
}

// ---- recordings --------------------------------------------------------------------------------

const tape = { pieces: [], frames: new Map(), count: 0, at: 0, timer: 0, marks: [] };

async function inflate(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
}

async function piece(i) {
    if (!tape.frames.has(i)) {
        if (tape.frames.size > 8) tape.frames.delete(tape.frames.keys().next().value);
        tape.frames.set(i, await inflate(tape.pieces[i].textContent));
    }
    return tape.frames.get(i);
}

const damaged = () => { $("status").textContent = "the recording is damaged here"; };

// Show frame number n of the recording.
const seek = (n) => showFrame(n).catch(damaged);

async function showFrame(n) {
    tape.at = Math.max(0, Math.min(tape.count - 1, n));
    const i = tape.starts.findLastIndex((start) => start <= tape.at);
    const frames = await piece(i);
    const k = tape.at - tape.starts[i];
    view.before = k > 0 ? frames[k - 1] : null;
    view.slow = {};
    for (let j = Math.max(0, k - 10); j < k; j++) for (const key of ["i", "p"]) if (frames[j][key]) view.slow[key] = frames[j][key];
    show(frames[k]);
    $("slider").value = tape.at;
    $("second").textContent = `${frames[k].w.toFixed(1)} s`;
    $("lines").replaceChildren();
    for (let j = Math.max(0, k - 30); j <= k; j++) addEvents(frames[j]);
    $("status").textContent = `a recording; the machine's clock: ${frames[k].t.toFixed(2)} s`;
}

// The frames before this piece, those in it, and its marks.  A damaged file can say anything; what makes no sense is left out.
function addPiece(node) {
    const count = /^[1-9]\d{0,3}$/.test(node.dataset.n) ? Number(node.dataset.n) : 0;
    for (const word of (node.dataset.marks || "").split(" ")) {
        const [, at, kind] = /^(\d+)([a-z])$/.exec(word) || [];
        if (kind in MARKS && Number(at) < count) tape.marks.push([tape.count + Number(at), kind]);
    }
    tape.starts.push(tape.count);
    tape.count += count;
}

// The marks of the slider, a lane for each kind.
function drawMarks() {
    const kinds = Object.keys(MARKS), box = $("marks");
    const svg = make(box, "svg", { viewBox: "0 0 1000 16", preserveAspectRatio: "none" });
    for (const [at, kind] of tape.marks) {
        const x = (1000 * at) / Math.max(1, tape.count - 1), y = 4 * kinds.indexOf(kind);
        make(svg, "rect", { class: `mark ${kind}`, x: x.toFixed(1), y, width: 3, height: 4 });
    }
    const words = html(box, "p", "marks: ");
    for (const kind of kinds) if (tape.marks.some((mark) => mark[1] === kind)) html(words, "span", `${MARKS[kind]} `, { class: kind });
    if (!tape.marks.length) words.textContent = "no marks";
}

function seekNextMark() {
    const mark = tape.marks.find(([at]) => at > tape.at);
    if (mark) seek(mark[0]);
}

async function replay() {
    begin(JSON.parse($("layout").textContent));
    tape.pieces = [...document.querySelectorAll('script[type="x-frames"]')];
    tape.starts = [];
    // A recording that was cut short ends in the middle of a piece.
    if (tape.pieces.length) await piece(tape.pieces.length - 1).catch(() => tape.pieces.pop());
    tape.pieces.forEach(addPiece);
    if (!tape.count) { $("status").textContent = "this recording was cut short before its first frame"; return; }
    $("player").hidden = false;
    $("slider").max = tape.count - 1;
    $("slider").step = 1;
    drawMarks();
    $("mark").addEventListener("click", seekNextMark);
    $("slider").addEventListener("input", () => seek(Number($("slider").value)));
    $("play").addEventListener("click", () => {
        if (tape.timer) { clearInterval(tape.timer); tape.timer = 0; $("play").textContent = "play"; return; }
        $("play").textContent = "pause";
        tape.timer = setInterval(() => seek(tape.at + 1), 100);
    });
    await seek(0);
}

window.addEventListener("load", () => ($("layout") ? replay().catch(damaged) : live()));
