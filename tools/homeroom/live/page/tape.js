// SPDX-License-Identifier: MIT
// tape.js - plays a recording (tools/homeroom/live/record.py): its pieces, the slider and the marks on it.
"use strict";

const MARKS = { t: "first touch", s: "stolen", f: "fence broken", r: "reclaim" }; // as record.py names them
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

// Note where the frames of a piece begin, their number, and their marks; what a damaged file says that makes no sense is left out.
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
