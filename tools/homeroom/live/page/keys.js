// SPDX-License-Identifier: MIT
// keys.js - the picture by keyboard and for screen readers.  Tab stops at one place of the picture, which the arrow keys move:
// left and right to boards and CPUs, up and down among the threads of a CPU.  Enter selects.  In the list of events Tab stops at one
// button, too.
"use strict";

const STATE = { u: "user", s: "system", i: "idle", o: "off-line" };
const PLACE = ".pick, [data-thread]"; // what can have the focus
const keys = { stop: null, line: null }; // the place and the button at which Tab stops

const threadAt = (node) => node.getAttribute("data-thread");
const cpuAt = (node) => (threadAt(node) === null ? node.getAttribute("data-cpu") : node.cpu);

// The places of a CPU: itself, then the threads that have a dot on it; those that run are first.
function placesOf(cpu) {
    const threads = view.frame ? view.frame.h : {}, rank = (node) => -threads[threadAt(node)][2];
    const dots = [...view.layer.children].filter((node) => String(threads[threadAt(node)]?.[4]) === String(cpu));
    return [view.cells[cpu].group, ...dots.sort((a, b) => rank(a) - rank(b) || threadAt(a) - threadAt(b))];
}

function setStop(node) {
    if (keys.stop === node) return;
    if (keys.stop) keys.stop.setAttribute("tabindex", "-1");
    node.setAttribute("tabindex", "0");
    keys.stop = node;
}

// Where a key leads from a place; undefined: nowhere.
function placeAfter(key, node) {
    const places = [...$("picture").querySelectorAll(".pick")], boards = places.filter((place) => place.hasAttribute("data-board"));
    const cpu = cpuAt(node), ring = cpu === null ? [node] : placesOf(cpu), at = places.indexOf(ring[0]);
    const board = boards.findLastIndex((place) => places.indexOf(place) <= at);
    switch (key) {
        case "ArrowRight": return places[at + 1];
        case "ArrowLeft": return places[at - 1];
        case "ArrowDown": return ring[ring.indexOf(node) + 1];
        case "ArrowUp": return ring[ring.indexOf(node) - 1];
        case "PageDown": return boards[board + 1];
        case "PageUp": return boards[places[at] === boards[board] ? board - 1 : board];
        case "Home": return places[0];
        case "End": return places[places.length - 1];
    }
}

function pressed(event) {
    const node = event.target.closest(PLACE);
    if (!node || event.altKey || event.ctrlKey || event.metaKey) return;
    const thread = threadAt(node), place = placeAfter(event.key, node);
    if (thread !== null && (event.key === "Enter" || event.key === " ")) select("thread", thread);
    else if (place) place.focus();
    else return;
    event.preventDefault();
}

// The words of a place for screen readers; written only if they have changed.
function setWords(node, words, chosen) {
    const all = `${words}|${chosen}`;
    if (node.words === all) return;
    node.words = all;
    node.setAttribute("aria-label", words);
    node.setAttribute("aria-pressed", String(chosen));
}

function updateWords(frame) {
    frame.c.forEach(([state, set, , queued, , , fenced], id) => {
        const more = [set >= 0 && `set ${set}`, fenced && "no-intr", queued && `${queued} waiting`].filter(Boolean);
        if (view.cells[id]) setWords(view.cells[id].group, [`CPU ${id}: ${STATE[state]}`, ...more].join(", "), isChosen("cpu", id));
    });
    view.boards.forEach(({ group }, id) => setWords(group, `board ${id}`, isChosen("board", id)));
    for (const node of view.layer.children) {
        const tid = threadAt(node), thread = frame.h[tid];
        if (!thread) continue;
        const home = thread[3] === NONE ? "of the kernel" : `home board ${thread[3]}`;
        node.cpu = thread[4];
        setWords(node, `thread ${tid}, ${thread[1]}, ${home}${thread[2] === RUNS ? "" : ", waiting"}`, isChosen("thread", tid));
    }
}

// Call `work`, which may remove the place that has the focus.  Then the new dot of this thread has it, else the CPU where the thread
// was; for the button of an event, that of the newest one.
function keepFocus(work) {
    const node = document.activeElement, inside = $("picture").contains(node), cpu = inside ? cpuAt(node) ?? null : null;
    const name = inside ? `[data-board="${node.getAttribute("data-board")}"]` : "";
    const thread = inside ? threadAt(node) : null, pid = view.dots.get(thread)?.pid;
    const list = $("details").contains(node), line = $("lines").contains(node);
    work();
    if (node.isConnected) return;
    const dot = view.dots.get(thread);
    if (dot && dot.pid === pid) dot.group.focus();
    else if (line) keys.line?.focus();
    else if (inside) (cpu !== null ? view.cells[cpu].group : $("picture").querySelector(name) || $("picture").querySelector(".pick")).focus();
    else if (list) $("details").focus();
}

// After each frame, and after the picture was drawn anew.
function updateKeys(frame) {
    updateWords(frame);
    if (!keys.stop || !keys.stop.isConnected) setStop($("picture").querySelector(".pick"));
}

// ---- the list of events ----

function setLineStop(node) {
    if (keys.line) keys.line.tabIndex = -1;
    if (node) node.tabIndex = 0;
    keys.line = node;
}

// After the list has changed: Tab stops at the newest event, unless the list has the focus.
function updateLineStop() {
    if (!$("lines").contains(document.activeElement)) setLineStop($("lines").querySelector("button"));
}

function pressedInLines(event) {
    const buttons = [...$("lines").querySelectorAll("button")], at = buttons.indexOf(event.target);
    if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const place = buttons[{ ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key]];
    if (!place) return;
    place.focus();
    event.preventDefault();
}

function beginKeys() {
    $("lines").addEventListener("keydown", pressedInLines);
    $("lines").addEventListener("focusin", (event) => { if (event.target.matches("button")) setLineStop(event.target); });
    $("picture").addEventListener("keydown", pressed);
    $("picture").addEventListener("focusin", (event) => { const node = event.target.closest(PLACE); if (node) setStop(node); });
}
