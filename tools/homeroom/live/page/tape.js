// SPDX-License-Identifier: MIT
// tape.js - plays a recording (tools/homeroom/live/record.py): its pieces, the slider and the marks on it.
// The picture at a frame is that of the live page: what the page shows of older frames is set first, then the frame is shown.
"use strict";

const MARKS = { t: "first touch", s: "stolen", f: "fence broken", r: "reclaim" }; // as record.py names them
const LONGEST = 2000; // milliseconds that `play` waits for a frame at most
// pieces: { at, count, node }, in their order; lacks: [first, after] of frames that are missing or damaged; shown: the frame in
// the picture, or -1; turn, rounds: count calls of seek() and starts of play(), so that a later one replaces an earlier one.
const tape = { pieces: [], lacks: [], frames: new Map(), count: 0, at: 0, shown: -1, turn: 0, playing: 0, rounds: 0, marks: [] };

async function inflate(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
}

// What is in a piece, or null if it is damaged.  The end of the element may be cut off.
async function openPiece(piece) {
    try {
        const found = await inflate(piece.node.textContent.replace(/<\/?\w*$/, "")), { past, frames } = found;
        let last = past.frame ? past.frame.w : -Infinity;
        for (const frame of frames) {
            if (!(Number.isFinite(frame.w) && Number.isFinite(frame.t) && frame.w >= last && frame.h)) return null;
            if (![frame.c, frame.n, frame.e].every(Array.isArray)) return null;
            last = frame.w;
        }
        return frames.length === piece.count ? found : null;
    } catch {
        return null;
    }
}

// The same; the pieces that were used last are kept.
async function keepPiece(piece) {
    if (!tape.frames.has(piece.at)) {
        if (tape.frames.size > 8) tape.frames.delete(tape.frames.keys().next().value);
        tape.frames.set(piece.at, await openPiece(piece));
    }
    return tape.frames.get(piece.at);
}

const pieceOf = (n) => tape.pieces.find(({ at, count }) => at <= n && n < at + count);

// The frame after those which are missing or damaged together with frame n.
const afterLack = (n) => tape.lacks.find(([first, after]) => first <= n && n < after)?.[1] ?? n + 1;

// ---- what is missing or damaged ----------------------------------------------------------------

function noteLack(first, after) {
    if (tape.lacks.some(([a, b]) => a <= first && after <= b)) return;
    tape.lacks = [...tape.lacks, [first, after]].sort(([a], [b]) => a - b);
    for (let i = 1; i < tape.lacks.length; i++)
        if (tape.lacks[i - 1][1] >= tape.lacks[i][0]) tape.lacks[i - 1][1] = tape.lacks.splice(i--, 1)[0][1];
    describe();
}

const damaged = () => { $("status").textContent = "the recording is damaged: no frame can be shown"; };

function describe() {
    if (tape.lacks.some(([first, after]) => first === 0 && after >= tape.count)) { damaged(); return; }
    const rows = tape.lacks.map(([first, after]) => `${first} to ${after - 1}`).join(", ");
    const words = `a recording${tape.whole ? "" : ", cut short"}${rows ? `; frames are missing or damaged: ${rows}` : ""}`;
    if ($("status").textContent !== words) $("status").textContent = words;
}

// The time of the frame that is shown; null: there is none, and the picture is pale.
function setTime(frame) {
    const words = frame ? `${frame.w.toFixed(1)} s` : "no frame";
    document.body.classList.toggle("lacking", !frame);
    $("second").textContent = words;
    $("slider").setAttribute("aria-valuetext", words);
    if (!frame) $("clock").textContent = "";
}

// Look at every piece once, so that the page says early what it cannot show.
async function inspect() {
    for (const piece of tape.pieces) if (!(await openPiece(piece))) noteLack(piece.at, piece.at + piece.count);
    tape.inspected = true;
}

// ---- going to a frame --------------------------------------------------------------------------

// Set what the live page shows before frame k of a piece: the values that only some frames have, links, trails, events.
function restore({ past, frames }, k) {
    const before = [...(past.frame ? [past.frame] : []), ...frames.slice(0, k)];
    view.slow = { ...past.seldom };
    for (const frame of before) for (const key of ["i", "p"]) if (frame[key]) view.slow[key] = frame[key];
    view.frame = before.length ? before[before.length - 1] : null;
    const links = [...past.links, ...before];
    const stays = (frame, older) => frame.a && frame.k === older.k; // as updateLinks() has it
    let at = links.length - 1;
    while (at > 0 && stays(links[at], links[at - 1])) at--;
    if (at >= 0) updateLinks(links[at], links[at - 1] || null);
    const places = Object.entries(past.frame ? past.frame.h : {});
    view.places = new Map(places.map(([tid, [pid, , , , cpu]]) => [tid, { pid, cpu, from: past.moved[tid] ?? -1 }]));
    view.moves = past.moves;
    frames.slice(0, k).forEach(follow);
    const events = [...past.events, ...frames.slice(0, k)].filter(({ e }) => e.length);
    let lines = 0, first = events.length;
    while (first > 0 && lines < LINES) lines += events[--first].e.length;
    $("lines").replaceChildren();
    updateLineStop();
    events.slice(first).forEach(addEvents);
}

// Show frame number n of the recording.  Returns whether that is possible.
async function seek(n) {
    const turn = ++tape.turn;
    tape.at = n = Math.max(0, Math.min(tape.count - 1, n));
    $("slider").value = n;
    const piece = pieceOf(n), found = piece ? await keepPiece(piece) : null;
    if (turn !== tape.turn) return true; // a later call shows another frame
    try {
        const k = n - piece.at;
        keepFocus(() => {
            if (tape.shown < 0 || tape.shown !== n - 1) restore(found, k);
            tape.shown = -1;
            next(found.frames[k]);
        });
        tape.shown = n;
        setTime(found.frames[k]);
        return true;
    } catch { // no such piece, or what is in it makes no sense
        tape.shown = -1;
        setTime(null);
        if (piece && !found) noteLack(piece.at, piece.at + piece.count); else noteLack(n, n + 1);
        return false;
    }
}

// `round`: the number of this start of play(); 0: none plays.
function setPlaying(round) {
    tape.playing = round;
    $("play").textContent = round ? "pause" : "play";
}

// The milliseconds from the frame that is shown to the next one; 0 if that is missing or damaged, or this is the last one.
async function timeToNext() {
    const n = tape.shown + 1, piece = pieceOf(n), found = piece ? await keepPiece(piece) : null;
    return found && n > 0 ? Math.min(LONGEST, 1000 * (found.frames[n - piece.at].w - view.frame.w)) : 0;
}

// Show one frame after the other at their times, from the beginning if this is the end.  Leaves out what is missing or damaged.
async function play() {
    if (tape.playing) { setPlaying(0); return; }
    const round = ++tape.rounds;
    setPlaying(round);
    let n = tape.at < tape.count - 1 ? tape.at + 1 : 0;
    while (tape.playing === round && n < tape.count) {
        const began = performance.now(), shown = await seek(n), pause = shown ? await timeToNext() : 0;
        if (pause > 0) await new Promise((done) => setTimeout(done, Math.max(0, began + pause - performance.now())));
        n = shown ? tape.at + 1 : afterLack(n); // the slider may have been moved
    }
    if (tape.playing === round) setPlaying(0);
}

// ---- the pieces of the file --------------------------------------------------------------------

const numberOf = (text) => (/^\d{1,9}$/.test(text) ? Number(text) : -1);

// Note where the frames of a piece are, and their marks; what a damaged file says that makes no sense is left out.
function addPiece(node) {
    const at = numberOf(node.dataset.at), count = numberOf(node.dataset.n);
    if (at < tape.count || count < 1 || count > 9999) return;
    if (at > tape.count) noteLack(tape.count, at);
    for (const word of (node.dataset.marks || "").split(" ")) {
        const [, mark, kind] = /^(\d+)([a-z])$/.exec(word) || [];
        if (kind in MARKS && Number(mark) < count) tape.marks.push([at + Number(mark), kind]);
    }
    tape.pieces.push({ at, count, node });
    tape.count = at + count;
}

// The marks of the slider, a lane for each kind.
function drawMarks() {
    const kinds = Object.keys(MARKS), box = $("marks");
    const svg = make(box, "svg", { viewBox: "0 0 1000 16", preserveAspectRatio: "none", "aria-hidden": "true" });
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

// Note the pieces of the file.  The last one of a recording that was cut short may end in the middle.
async function findPieces() {
    const nodes = [...document.querySelectorAll('script[type="x-frames"]')], end = document.querySelector('script[type="x-end"]');
    const number = end ? numberOf(end.dataset.n) : -1;
    tape.whole = number >= 0;
    nodes.forEach(addPiece);
    const last = tape.pieces[tape.pieces.length - 1];
    if (!tape.whole && last && last.node === nodes[nodes.length - 1] && !(await openPiece(last))) {
        tape.pieces.pop();
        tape.count = last.at;
        tape.marks = tape.marks.filter(([at]) => at < tape.count);
    }
    if (number > tape.count) { noteLack(tape.count, number); tape.count = number; }
}

$("status").textContent = ""; // the scripts are complete

async function replay() {
    begin(JSON.parse($("layout").textContent));
    await findPieces();
    if (!tape.pieces.length) {
        if (tape.lacks.length) damaged(); else $("status").textContent = "this recording was cut short before its first frame";
        return;
    }
    $("player").hidden = false;
    $("slider").max = tape.count - 1;
    describe();
    drawMarks();
    $("mark").addEventListener("click", seekNextMark);
    $("slider").addEventListener("input", () => seek(Number($("slider").value)));
    $("play").addEventListener("click", play);
    await seek(0);
    inspect();
}
