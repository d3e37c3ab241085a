// Keeps a page as it is now: fetches it again when something happens, and puts the parts in
// that differ. It makes no markup of its own; what it puts in was a page of this server.

const said = document.getElementById("said");
const article = document.querySelector("article.question");
const home = document.querySelector("nav a").pathname; // every other address begins with it
const say = (words) => { if (said) said.textContent = words; };

// The same page as it is now, as a document that runs nothing. Who was signed out, or whose
// bridge began anew, sees nothing more of it.
const fetchPage = () => new Promise((done, failed) => {
  const r = new XMLHttpRequest();
  r.open("GET", location.href);
  r.responseType = "document";
  r.timeout = 15000;
  r.onload = () => r.status === 403 ? location.reload() : (r.response && r.status < 500 ? done(r.response) : failed(new Error("no page")));
  r.onerror = r.ontimeout = () => failed(new Error("no answer"));
  r.send();
});

// Lists are kept item by item, so that what one has under one's finger stays where it is.
const same = (a, b) => a.dataset.version ? a.dataset.version === b.dataset.version : a.isEqualNode(b);

function keep(list, now) {
  const old = new Map([...list.children].map((c) => [c.id, c]));
  let fresh = 0;
  for (const next of now.children) {
    const was = old.get(next.id);
    old.delete(next.id);
    if (was && same(was, next)) continue;
    const item = document.importNode(next, true);
    if (was) { swap(was, item); continue; }
    item.classList.add("fresh");
    list.append(item);
    fresh++;
  }
  for (const gone of old.values()) {
    if (gone.contains(document.activeElement)) {
      const near = gone.nextElementSibling ?? gone.previousElementSibling;
      (near?.querySelector("a") ?? document.getElementById("main")).focus();
    }
    gone.remove();
  }
  return fresh;
}

function swap(was, item) {
  const focused = was.contains(document.activeElement);
  was.replaceWith(item);
  if (focused) item.querySelector("a")?.focus();
}

function put(page) {
  document.title = page.title;
  let fresh = 0;
  for (const next of page.querySelectorAll("[data-live]")) {
    const here = document.getElementById(next.id);
    if (!here) continue;
    if (here.matches("ol")) fresh += keep(here, next);
    else if (!here.isEqualNode(next) && !here.contains(document.activeElement) && !here.querySelector("details[open]"))
      here.replaceChildren(...[...next.childNodes].map((n) => document.importNode(n, true)));
  }
  if (fresh && document.getElementById("questions")) say((fresh === 1 ? "A new question. " : fresh + " new questions. ") + document.getElementById("heading").textContent);
}

// A question that ended or changed stays on the screen, and its buttons do nothing more.
function settle(page) {
  const now = page.querySelector("article.question");
  if (now && now.dataset.digest === article.dataset.digest) return put(page);
  const set = document.querySelector("#answer > fieldset");
  const typing = set?.contains(document.activeElement);
  if (set) set.disabled = true;
  const outcome = page.getElementById("outcome");
  const words = now ? "This question has changed. " : "This question is closed: " + (outcome ? outcome.textContent : "") + " ";
  if (article.dataset.over === words) return;
  article.dataset.over = words; // how it ended may be heard of later
  const note = document.getElementById("wrong");
  const text = document.createElement("p");
  text.className = "warn";
  const link = document.createElement("a");
  link.href = now ? location.pathname : home;
  if (now) link.addEventListener("click", () => shown(now.dataset.digest));
  link.textContent = now ? "Look at it again" : "All questions";
  text.append(words, link);
  note.replaceChildren(text);
  say(words);
  if (typing) note.focus();
}

let busy = false, again = false;
async function renew() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const page = await fetchPage();
    article ? settle(page) : put(page);
    count();
    link(true);
  } catch { link(false); }
  await new Promise((done) => setTimeout(done, 400)); // a burst costs one look, and one more
  busy = false;
  if (again) { again = false; renew(); }
}

const state = document.getElementById("link-state");
function link(live) {
  if (state) state.textContent = live ? "Live: this page shows what is new by itself." : "Not live: the bridge does not answer. It is tried again.";
}

// One tab of a browser listens and tells the others: a browser has few connections to spare.
function listen() {
  const others = new BroadcastChannel("mcpx-inbox");
  const heard = (e) => { if (!article || !e.id || e.id === article.dataset.id) renew(); };
  others.onmessage = (m) => heard(m.data);
  const hold = () => new Promise(() => {
    const events = new EventSource(home + "events");
    events.onopen = () => { others.postMessage({}); renew(); }; // whatever happened before is heard of nowhere else
    events.onmessage = (m) => { const e = JSON.parse(m.data); others.postMessage(e); heard(e); };
    events.onerror = () => { link(false); others.postMessage({}); };
  });
  if (navigator.locks) navigator.locks.request("mcpx-inbox", hold);
  else hold();
  renew();
}

// Time that is left, counted from when the page came.
const ends = new WeakMap();
function count() {
  for (const t of document.querySelectorAll("time[data-left]")) {
    if (!ends.has(t)) ends.set(t, performance.now() + 1000 * seconds(t.dataset.left));
    const s = Math.max(0, Math.floor((ends.get(t) - performance.now()) / 1000));
    const two = (n) => String(n).padStart(2, "0");
    t.textContent = s <= 0 ? "time is up" : (s >= 3600 ? Math.floor(s / 3600) + ":" + two(Math.floor(s / 60) % 60) : Math.floor(s / 60)) + ":" + two(s % 60) + " left";
    if (s < 60) t.dataset.late = "yes";
  }
}
const seconds = (said) => [...said.matchAll(/([\d.]+)([hms])/g)].reduce((sum, [, n, unit]) => sum + n * { h: 3600, m: 60, s: 1 }[unit], 0);

// Keeps which question this tab has shown, as it was then.
const shown = (digest) => sessionStorage.setItem("shown", article.dataset.id + " " + digest);

// A question that is another one than the tab has shown may have come under the finger of
// somebody who means that: the box says that they have seen it.
function changed() {
  if (!article) return [];
  const { id, digest } = article.dataset, before = sessionStorage.getItem("shown") ?? "";
  if (!before.startsWith(id) || before === id + " " + digest || !document.querySelector("button[value=allow]")) {
    shown(digest);
    return [];
  }
  const note = document.createElement("p"), label = document.createElement("label"), box = document.createElement("input");
  note.className = "warn";
  note.textContent = "This is not the question that was shown here before.";
  box.type = "checkbox";
  box.addEventListener("change", () => { if (box.checked) shown(digest); });
  label.className = "choice";
  label.append(box, "I have looked at it as it is now");
  document.getElementById("wrong").append(note, label);
  return [box];
}

// A long value that was opened was looked at.
function unlock() {
  const boxes = [...document.querySelectorAll(".box input[name=seen]")], asked = changed();
  if (!boxes.length && !asked.length) return;
  const lock = document.getElementById("lock"), allow = document.querySelectorAll("button[value=allow]");
  const check = () => {
    const left = boxes.filter((b) => !b.checked).length;
    for (const b of allow) b.disabled = left > 0 || asked.some((b) => !b.checked);
    if (lock) lock.hidden = left === 0;
  };
  for (const b of asked) b.addEventListener("change", check);
  for (const d of document.querySelectorAll("details.long")) {
    const box = document.getElementById("box-" + d.dataset.box);
    if (!box) continue;
    const look = () => { if (d.open) { box.checked = true; check(); } };
    d.addEventListener("toggle", look);
    look(); // it may have been opened before this script came
    box.closest("label").hidden = true;
  }
  check();
}

// A passkey signs a yes, or is made, before its form is sent. Bytes are base64 on the way.
const plain = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)));
const raw = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const keys = (ids) => ids.map((id) => ({ type: "public-key", id: raw(id) }));

const ask = (address, form, button) => new Promise((done, failed) => {
  const r = new XMLHttpRequest();
  r.open("POST", address);
  r.timeout = 15000;
  r.onload = () => (r.status === 200 ? done(JSON.parse(r.responseText)) : failed(new Error(r.responseText)));
  r.onerror = r.ontimeout = () => failed(new Error("The bridge does not answer."));
  r.send(new URLSearchParams(new FormData(form, button)));
});

async function signs(form, want) {
  const got = await navigator.credentials.get({ publicKey: { rpId: want.party, challenge: raw(want.challenge),
    allowCredentials: keys(want.known), userVerification: "required", timeout: 120000 } });
  form.elements.statement.value = want.statement;
  form.elements.assertion.value = JSON.stringify({ credential: plain(got.rawId), authenticator_data: plain(got.response.authenticatorData),
    client_data: plain(got.response.clientDataJSON), signature: plain(got.response.signature) });
}

async function makes(form, want) {
  const got = await navigator.credentials.create({ publicKey: { rp: { id: want.party, name: "mcpx-bridge" }, challenge: raw(want.challenge),
    user: { id: raw(want.user), name: form.elements.name.value, displayName: form.elements.name.value },
    pubKeyCredParams: want.kinds.map((alg) => ({ type: "public-key", alg })), excludeCredentials: keys(want.known),
    authenticatorSelection: { userVerification: "required" }, attestation: "none", timeout: 120000 } });
  form.elements.challenge.value = want.challenge;
  form.elements.made.value = JSON.stringify({ credential: plain(got.rawId), public_key: plain(got.response.getPublicKey()),
    authenticator_data: plain(got.response.getAuthenticatorData()), client_data: plain(got.response.clientDataJSON) });
}

for (const form of document.querySelectorAll("form[data-passkey]")) form.addEventListener("submit", async (e) => {
  const button = e.submitter;
  if (button?.value !== "allow" && button?.value !== "enrol" || form.dataset.ready) return;
  e.preventDefault();
  e.stopImmediatePropagation();
  if (form.dataset.busy) return;
  form.dataset.busy = "yes";
  try {
    const want = await ask(form.dataset.passkey, form, button);
    await (button.value === "allow" ? signs : makes)(form, want);
    form.dataset.ready = "yes";
    form.requestSubmit(button);
  } catch (wrong) {
    const text = document.createElement("p");
    text.className = "warn";
    text.setAttribute("role", "alert");
    text.textContent = wrong.name === "NotAllowedError" ? "No passkey was used." : wrong.message;
    document.getElementById("wrong").replaceChildren(text);
  } finally { delete form.dataset.busy; }
});

// A form is sent once.
for (const f of document.forms) f.addEventListener("submit", (e) => { if (f.dataset.sent) e.preventDefault(); f.dataset.sent = "yes"; });
addEventListener("pageshow", (e) => {
  if (!e.persisted) return;
  if (article && !document.querySelector("#wrong input:not(:checked)")) shown(article.dataset.digest);
  location.reload();
});

// How much there is to do nobody is told each time: it is looked at again, while somebody sees it.
const every = document.querySelector("[data-renew]")?.dataset.renew;
if (every) setInterval(() => { if (!document.hidden) renew(); }, 1000 * every);

unlock();
count();
setInterval(count, 1000);
if (document.querySelector("[data-live]")) listen(); // what is answered together stays as it was shown
else state?.parentElement.remove();
