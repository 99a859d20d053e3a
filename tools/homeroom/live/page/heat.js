// SPDX-License-Identifier: MIT
// heat.js - draws the page heat of one process: its address space as rows of cells, each one page or a few (tools/homeroom/heat.py).
// It is asked for again and again while a process is chosen; a recording does not contain it.
"use strict";

const HEAT = { side: 12, label: 112, pause: 3000 }; // pixels; milliseconds between two requests
const heat = { pid: 0, chosen: null, names: "", turn: 0, drawn: 0 };

// The name of each process, by its id.
function heatProcesses(frame) {
    const found = new Map();
    for (const [, [pid, name]] of Object.entries(frame.h)) if (pid && !found.has(pid)) found.set(pid, name);
    return [...found].sort(([a], [b]) => a - b);
}

// A cell of several pages: `far` has the misses on each page by CPUs of other boards than the one that has this page.
function heatCell([far, owned, misses]) {
    const total = misses.reduce((sum, n, i) => sum + (i % 2 ? n : 0), 0);
    const owners = owned.filter((_, i) => i % 2 === 0);
    return { owners, total, far, top: misses.length ? misses[0] : owners[0], misses };
}

function heatWords(address, { owners, total, far, misses }) {
    const from = [];
    for (let i = 0; i < misses.length; i += 2) from.push(`${short(misses[i + 1])} from board ${misses[i]}`);
    const where = owners.length > 1 ? `pages on boards ${owners.join(", ")}` : `on board ${owners[0]}`;
    const others = owners.length > 1 ? "other boards than the page's" : "other boards";
    return `${address.toString(16)}: ${where}, ${short(total)} misses, ${short(far)} from ${others}` + (from.length ? ` (${from.join(", ")})` : "");
}

// A cell: the frame has the colour of the board with most of its pages, and is dashed if others have some; the mark has that of
// the board that misses most, and grows with the misses.  A diamond with an edge: most misses on the pages of the cell are far.
function drawHeatCell(svg, x, y, address, one, most) {
    const half = HEAT.side / 2 - 1;
    const group = make(svg, "g", { class: "page", transform: `translate(${x} ${y})` });
    make(group, "title", {}, heatWords(address, one));
    const frame = { stroke: hue(one.owners[0]), "stroke-dasharray": one.owners.length > 1 ? "2 1" : "none", fill: "none" };
    make(group, "rect", { x: 1, y: 1, width: HEAT.side - 2, height: HEAT.side - 2, ...frame });
    if (!one.total) return;
    const r = 1 + (half - 1.5) * Math.log2(1 + one.total) / Math.log2(1 + most);
    const away = 2 * one.far > one.total;
    const d = away ? `M 0 ${-r * 1.3} L ${r * 1.3} 0 L 0 ${r * 1.3} L ${-r * 1.3} 0 z` : `M ${-r} ${-r} H ${r} V ${r} H ${-r} z`;
    make(group, "path", { class: away ? "away" : "", d, fill: hue(one.top), transform: `translate(${HEAT.side / 2} ${HEAT.side / 2})` });
}

function drawHeat(data) {
    const width = Math.max(300, $("heat").clientWidth - 32);
    const columns = Math.max(8, Math.floor((width - HEAT.label) / HEAT.side));
    const runs = data.runs.map(([start, cells]) => [parseInt(start, 16), cells.map(heatCell)]);
    const most = Math.max(1, ...runs.map(([, cells]) => cells.reduce((least, cell) => Math.max(least, cell.total), 0)));
    const svg = make(null, "svg", { role: "img", "aria-label": "the pages of the process, in the order of addresses" });
    let y = 0;
    for (const [start, cells] of runs) {
        make(svg, "text", { class: "small", x: 0, y: y + HEAT.side - 2 }, start.toString(16));
        cells.forEach((cell, i) => {
            const row = Math.floor(i / columns);
            drawHeatCell(svg, HEAT.label + (i % columns) * HEAT.side, y + row * HEAT.side, start + i * data.per * 4096, cell, most);
        });
        y += Math.ceil(cells.length / columns) * HEAT.side + 3;
    }
    svg.setAttribute("viewBox", `0 0 ${width} ${y}`);
    $("heat-picture").replaceChildren(svg);
    drawHottest(runs, data.per);
}

// The hottest cells in words, for readers without the picture.
function drawHottest(runs, per) {
    const all = runs.flatMap(([start, cells]) => cells.map((cell, i) => [start + i * per * 4096, cell]));
    const hot = all.filter(([, cell]) => cell.total).sort(([, a], [, b]) => b.total - a.total).slice(0, 10);
    $("heat-list").replaceChildren(...hot.map(([address, cell]) => html(null, "li", heatWords(address, cell))));
}

function heatSummary(data) {
    const cell = data.per > 1 ? `a cell is ${data.per} pages` : "a cell is a page";
    const rate = data.every > 1 ? `one of ${data.every} misses is counted; the numbers are estimates` : "each miss is counted";
    const several = "the board that has most pages of the cell; dashed: other boards have some";
    const frame = data.per > 1 ? several : "the board that has the page";
    return `${data.pages} pages of 4 KiB; ${cell}; ${rate}. Frame: ${frame}. Mark: the board that misses most on the cell; ` +
        "larger: more misses; a diamond with an edge: most misses come from other boards than the page's.";
}

// Why there are no new pictures of the chosen process, or "".
function heatEnd(answer) {
    if (view.ended) return view.ended;
    const lives = heatProcesses(view.frame).some(([pid]) => pid === heat.pid);
    return answer && answer.status === 404 && !lives ? `process ${heat.pid} has ended` : "";
}

// Asks for the chosen process again and again, until it ends or another one is chosen.
async function updateHeat(turn) {
    let pause = HEAT.pause; // the server can name a longer one
    if (!document.hidden) {
        const answer = await fetch(`heat?pid=${heat.pid}`).catch(() => null);
        const data = answer && answer.ok ? await answer.json() : null;
        const words = data ? heatSummary(data) : answer ? await answer.text() : "the server does not answer";
        if (turn !== heat.turn) return;
        const busy = answer && answer.status === 503, end = data ? "" : heatEnd(answer), drawn = $("heat-picture").firstChild;
        if (data) { drawHeat(data); heat.drawn++; }
        const wait = answer ? 1000 * Number(answer.headers.get("Retry-After")) : 0;
        pause = busy ? wait : Math.max(pause, wait); // if busy, no longer than that, because of the other pages
        if (!busy || !drawn) $("heat-words").textContent = end ? end + (drawn ? "; this is its last picture" : "") : words;
        if (end) return;
    }
    setTimeout(() => { if (turn === heat.turn) updateHeat(turn); }, pause);
}

function chooseHeat(pid) {
    heat.pid = pid;
    heat.turn++;
    $("heat-process").value = String(pid);
    $("heat-picture").replaceChildren();
    $("heat-list").replaceChildren();
    if (pid) updateHeat(heat.turn);
}

// Follows what the page shows: the list of processes, and the thread that is chosen in the picture.
function followHeat() {
    const frame = view.frame;
    if (!frame) return;
    const list = heatProcesses(frame), names = JSON.stringify(list);
    if (names !== heat.names) {
        heat.names = names;
        const none = html(null, "option", "none", { value: "0" });
        $("heat-process").replaceChildren(none, ...list.map(([pid, name]) => html(null, "option", `${pid} ${name}`, { value: String(pid) })));
        $("heat-process").value = String(heat.pid);
    }
    const chosen = view.chosen && view.chosen.kind === "thread" ? view.chosen.id : null;
    if (chosen !== heat.chosen) {
        heat.chosen = chosen;
        const thread = frame.h[chosen];
        if (thread && thread[0] !== heat.pid) chooseHeat(thread[0]);
    }
}

// The colours of the boards; with more boards than colours, the words of a cell tell which one it is.
function heatBoards() {
    const line = html(null, "p", "Boards:");
    view.layout.boards.forEach((_, i) => {
        const svg = make(null, "svg", { viewBox: "0 0 12 12", class: "board-key", "aria-hidden": "true" });
        make(svg, "rect", { x: 1, y: 1, width: 10, height: 10, fill: hue(i) });
        line.append(" ", svg, ` ${i}`);
    });
    return line;
}

function beginHeat() {
    if (!view.layout) { setTimeout(beginHeat, 200); return; }
    if (!view.layout.heat) return;
    const box = $("heat");
    box.hidden = false;
    html(box, "h2", "Page heat");
    const label = html(box, "label", "The misses on the pages of process ");
    html(label, "select", undefined, { id: "heat-process" }).addEventListener("change", (event) => chooseHeat(Number(event.target.value)));
    html(box, "p", "Choose a process here, or a thread in the picture above.", { id: "heat-words" });
    box.append(heatBoards());
    html(box, "div", undefined, { id: "heat-picture" });
    html(box, "ol", undefined, { id: "heat-list" });
    setInterval(followHeat, 300);
}

window.addEventListener("load", beginHeat);
