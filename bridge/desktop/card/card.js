'use strict';
(() => {
  const host = window.parent;
  const key = document.querySelector('meta[name=mcpx-key]').content;
  const list = document.getElementById('questions');
  const state = document.getElementById('state');
  const again = document.getElementById('again');
  const waiting = new Map(); // our requests to the host, by id
  const shown = new Map(); // questions by nonce, as they stand in the list
  let last = 0;
  let ticket; // of the call that this page is shown for

  // Whose frame this is in nobody can tell, so nothing is said that the host does not have.
  const send = (message) => host.postMessage({ jsonrpc: '2.0', ...message }, '*');
  const ask = (method, params) => new Promise((resolve, reject) => {
    waiting.set(++last, { resolve, reject });
    send({ id: last, method, params });
  });

  // tool calls a tool of our server through the host. What went wrong is an Error with words.
  async function tool(name, args) {
    const result = await ask('tools/call', { name, arguments: args });
    if (result.isError) throw new Error(result.content?.[0]?.text ?? 'It did not work.');
    return result.structuredContent ?? {};
  }

  window.addEventListener('message', (event) => {
    const m = event.data;
    if (event.source !== host || typeof m !== 'object' || m === null || m.jsonrpc !== '2.0') return;
    if (typeof m.method === 'string') return heard(m);
    const w = waiting.get(m.id);
    waiting.delete(m.id);
    if (!w) return;
    if (m.error) w.reject(new Error(m.error.message ?? 'The client refused.'));
    else w.resolve(m.result ?? {});
  });

  function heard(m) {
    if (m.id !== undefined) {
      const known = m.method === 'ping' || m.method === 'ui/resource-teardown';
      send(known ? { id: m.id, result: {} } : { id: m.id, error: { code: -32601, message: 'no such method' } });
    } else if (m.method === 'ui/notifications/tool-result') {
      ticket = m.params?._meta?.['mcpx/card'];
      look();
    } else if (m.method === 'ui/notifications/host-context-changed') dress(m.params);
  }

  function dress(context) {
    const theme = context?.theme;
    if (theme === 'light' || theme === 'dark') document.documentElement.style.colorScheme = theme;
  }

  const make = (name, words) => {
    const e = document.createElement(name);
    if (words) e.textContent = words;
    return e;
  };

  // field is an input for one property of a form; read is what was put in, undefined if nothing.
  function field(name, p) {
    const choices = p.enum ?? (p.type === 'boolean' ? ['true', 'false'] : null);
    const input = make(choices ? 'select' : 'input');
    for (const word of choices ? ['', ...choices] : []) {
      const option = make('option', word);
      option.value = word;
      input.append(option);
    }
    if (p.maxLength) input.maxLength = p.maxLength;
    const label = make('label', p.title || name);
    if (p.description) label.append(make('small', p.description));
    label.append(input);
    const read = () => {
      const text = input.value;
      if (text === '') return undefined;
      if (p.type === 'boolean') return text === 'true';
      if (p.type !== 'number' && p.type !== 'integer') return text;
      if (String(Number(text)) !== text.trim()) throw new Error((p.title || name) + ': this number cannot be sent as it stands.');
      return Number(text);
    };
    return { label, read };
  }

  function add(q) {
    const item = document.getElementById('question').content.cloneNode(true).firstElementChild;
    const [fields, choices, outcome] = ['.fields', '.choices', '.outcome'].map((at) => item.querySelector(at));
    item.querySelector('code').textContent = q.digest;
    item.querySelector('pre').textContent = q.text;
    const { decision, ...others } = q.schema.properties;
    const inputs = new Map();
    for (const [name, p] of Object.entries(others)) {
      const f = field(name, p);
      inputs.set(name, f.read);
      fields.append(f.label);
    }
    const one = {
      end(words) {
        item.classList.add('over');
        for (const e of item.querySelectorAll('button, input, select')) e.disabled = true;
        outcome.textContent = words;
        one.over = true;
      },
      over: false,
    };
    decision.enum.forEach((choice, i) => {
      const button = make('button', decision.enumNames[i]);
      button.type = 'button';
      button.value = choice;
      button.addEventListener('click', () => decide(q, one, choice, inputs, outcome));
      choices.append(button);
    });
    shown.set(q.nonce, one);
    list.append(item); // at the end: nothing that is there moves under a finger
  }

  async function decide(q, one, choice, inputs, outcome) {
    const content = { decision: choice };
    try {
      for (const [name, read] of inputs) {
        const value = read();
        if (value !== undefined) content[name] = value;
      }
      if (choice === 'delegate' && !content.delegateTo) throw new Error('Say who decides instead.');
    } catch (problem) {
      outcome.textContent = problem.message;
      return;
    }
    one.end('…');
    try {
      const said = await tool('mcpx_answer', { digest: q.digest, nonce: q.nonce, answer: { action: 'accept', content } });
      one.end('Your answer: ' + said.outcome + '.');
    } catch (problem) {
      one.end(problem.message);
      shown.delete(q.nonce); // if it is asked still, it comes once more
    }
    look();
  }

  async function look() {
    if (typeof ticket !== 'string') {
      state.textContent = 'The client has not told this card which call it is for. The command mcpx-bridge approve shows the questions.';
      return;
    }
    try {
      const found = await tool('mcpx_card', { key, ticket });
      const open = new Set(found.questions.map((q) => q.nonce));
      for (const [nonce, one] of shown) if (!open.has(nonce) && !one.over) one.end('It is no longer asked.');
      for (const q of found.questions) if (!shown.has(q.nonce)) add(q);
      state.textContent = words(found);
    } catch (problem) {
      state.textContent = problem.message;
    }
  }

  const words = ({ questions, elsewhere }) =>
    (questions.length === 0 ? 'No question waits for you.' : questions.length === 1 ? 'One question waits for you.' : questions.length + ' questions wait for you.')
    + (elsewhere ? ' Not shown here: ' + elsewhere + '. The command mcpx-bridge approve shows them.' : '');

  again.addEventListener('click', look);
  document.addEventListener('visibilitychange', () => { if (!document.hidden && ticket) look(); });
  const size = () => send({ method: 'ui/notifications/size-changed', params: { width: document.documentElement.scrollWidth, height: document.documentElement.scrollHeight } });

  ask('ui/initialize', { protocolVersion: '2026-01-26', appInfo: { name: 'mcpx-bridge', version: '1' }, appCapabilities: {} }).then((result) => {
    dress(result.hostContext);
    send({ method: 'ui/notifications/initialized' });
    new ResizeObserver(size).observe(document.body);
  }, (problem) => { state.textContent = problem.message; });
})();
