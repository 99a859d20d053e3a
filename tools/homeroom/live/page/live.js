// SPDX-License-Identifier: MIT
// live.js - the words and numbers beside the picture; shows the frames of the server, or of a recording (tape.js).
// What changes with each frame is in no live region: a screen reader reads out only $("status").
"use strict";

const THRESHOLDS = ["cachefree", "lotsfree", "desfree", "minfree", "throttlefree"]; // as kernel.py orders them

const LINES = 200; // events in the list
const LISTED = 30; // threads in a list

// ---- words and numbers -------------------------------------------------------------------------

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
    if (!view.slow.i) return "not known yet"; // only one frame a second has them
    const found = Object.entries(view.slow.i[id] || {});
    return found.sort((a, b) => b[1] - a[1]).map(([name, rate]) => `${name} ${rate}`).join(", ") || "none";
}

function cpuDetails(frame, id) {
    if (!frame.c[id]) return [["state", "has not started"]];
    const [state, set, tid, queued, user, system, fenced, rate] = frame.c[id];
    const thread = frame.h[tid];
    return [
        ["state", STATE[state] + (fenced ? ", no-intr" : "")], ["time", `user ${user} %, system ${system} %`],
        ["processor set", set >= 0 ? `set ${set}` : "none", "set", set >= 0 ? set : ""],
        ["runs", thread ? `${thread[1]}, thread ${tid} of ${thread[0] ? `process ${thread[0]}` : "the kernel"}` : "-", "thread", thread ? tid : ""],
        ["threads waiting", queued], ["threads here", Object.values(frame.h).filter((t) => t[4] === id).length], ["interrupts", `${rate} a second`], ["by source", interruptsOf(id)],
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

// Which threads the details list: of a CPU those that run, wait or sleep there; of a board those that are at home there.
const THREADS = { cpu: (id) => (t) => t[4] === id, board: (id) => (t) => t[3] === id };
const DOES = ["sleeps", "waits for the CPU", "runs"]; // by the state of a thread

// A list with a button for each of some threads, at most LISTED.  A thread keeps its line while it is there, so the keyboard stays on it.
function updateThreads(list, frame, wanted) {
    const all = Object.entries(frame.h).filter(([, t]) => wanted(t)).sort(([a, s], [b, t]) => t[2] - s[2] || a - b);
    const shown = all.slice(0, LISTED).sort(([a], [b]) => a - b), old = new Map([...list.children].map((line) => [line.dataset.thread, line]));
    const lines = shown.map(([tid, [, name, state]]) => {
        const line = old.get(tid) || html(null, "li", undefined, { "data-thread": tid }), node = line.firstChild || button(line, "thread", tid, "");
        const words = `thread ${tid} (${name}) ${DOES[state] || ""}`;
        if (node.textContent !== words) node.textContent = words;
        return line;
    });
    for (const line of old.values()) if (!lines.includes(line)) line.remove();
    lines.forEach((line, i) => { if (list.children[i] !== line) list.insertBefore(line, list.children[i] || null); });
}

const DETAILS = { cpu: cpuDetails, board: boardDetails, thread: threadDetails, set: setDetails };

function updateDetails(frame) {
    const box = $("details"), chosen = view.chosen;
    if (!chosen || !frame) { box.replaceChildren(html(null, "p", "Select a CPU, a thread, a board or a set for its counters.")); return; }
    const name = `${chosen.kind === "cpu" ? "CPU" : chosen.kind} ${chosen.id}`;
    if (!box.firstChild || box.firstChild.textContent !== name) box.replaceChildren(html(null, "h2", name), html(null, "dl"), html(null, "ul"));
    rows(box.children[1], DETAILS[chosen.kind](frame, chosen.id));
    updateThreads(box.lastChild, frame, THREADS[chosen.kind] ? THREADS[chosen.kind](chosen.id) : () => false);
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
        if (cpu >= 0) button(word, "cpu", cpu, kind).tabIndex = -1; else word.textContent = kind;
        line.append(` ${text} (${frame.w.toFixed(1)} s)`);
        list.prepend(line);
    }
    keepFocus(() => { while (list.childElementCount > LINES) list.lastChild.remove(); updateLineStop(); });
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
    entry(dot("", 0.7), "thread that waits; +2: two wait"); entry((svg) => make(svg, "path", { class: "trail", d: "M 2 13 L 20 3" }), "a thread has moved");
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
    updateCpus(frame); updateMemory(frame); updateLinks(frame, view.before);
    updateTrails(frame);
    keepFocus(() => { updateDots(frame); updateDetails(frame); });
    updateKeys(frame);
    updateSets(frame); updateDisks(frame); updateNumbers(frame);
    view.shown = (view.shown || 0) + 1;
}

function next(frame) {
    view.before = view.frame;
    follow(frame);
    show(frame);
    addEvents(frame);
    const running = Object.values(frame.h).filter((t) => t[2] === RUNS).length;
    $("clock").textContent = `after ${frame.w.toFixed(1)} s; the machine's clock: ${frame.t.toFixed(2)} s; running threads: ${running}` +
        (frame.b ? "" : "; without the model");
}

function redraw() {
    keepFocus(() => { draw(view.layout); if (view.frame) show(view.frame); });
}

function begin(layout) {
    view.layout = layout;
    $("title").textContent = layout.title;
    document.title = `${layout.title} - Homeroom, live`;
    draw(layout);
    beginKeys();
    legend();
    updateDetails(null);
    let timer = 0;
    window.addEventListener("resize", () => {
        clearTimeout(timer);
        timer = setTimeout(() => { if (Math.abs($("picture").clientWidth - view.drawn) > 40) redraw(); }, 200);
    });
    $("picture").addEventListener("click", (event) => {
        const dot = event.target.closest("[data-thread]");
        if (dot) select("thread", dot.getAttribute("data-thread"));
    });
}

const noAnswer = () => { $("status").textContent = "the server does not answer"; };

async function live() {
    $("status").textContent = "connecting";
    const layout = await fetch("layout").then((answer) => answer.json()).catch(noAnswer);
    if (!layout) return;
    begin(layout);
    $("status").textContent = "";
    const source = new EventSource("frames");
    // The first message of a stream.  Another server has another machine, or another kernel: begin again with its layout.
    source.addEventListener("server", (message) => {
        if (message.data !== layout.server) { source.close(); location.reload(); return; }
        $("status").textContent = "";
        source.onmessage = (frame) => next(JSON.parse(frame.data));
    });
    source.addEventListener("end", (message) => { source.close(); view.ended = message.data; $("status").textContent = message.data; });
    source.onerror = () => { if (source.readyState === EventSource.CONNECTING) noAnswer(); };
}

window.addEventListener("load", () => ($("layout") || location.protocol === "file:" ? replay().catch(damaged) : live()));
