// Connects a page to the host that shows it: the extension io.modelcontextprotocol/ui, version 2026-01-26.
// `mcpApp` is the only name that it defines. Messages that do not come from the host are ignored.
"use strict";

const mcpApp = (() => {
  const VERSION = "2026-01-26";
  const EVENTS = [
    "tool-input-partial", "tool-input", "tool-result", "tool-cancelled", "host-context-changed", "teardown",
  ];
  const pending = new Map(); // id of a request to the host -> how its promise ends
  const listeners = new Map(EVENTS.map((event) => [event, []]));
  const latest = new Map(); // event -> what it last came with, for listeners that are added later
  let lastId = 0;
  let host = {};

  const send = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

  function request(method, params) {
    const id = ++lastId;
    return new Promise((resolve, reject) => {
      pending.set(id, { resolve, reject });
      send({ id, method, params });
    });
  }

  async function emit(event, value) {
    latest.set(event, value);
    for (const listener of [...listeners.get(event)]) await listener(value);
  }

  function on(event, listener) {
    if (!listeners.has(event)) throw new Error(`there is no event "${event}"; events are ${EVENTS.join(", ")}`);
    listeners.get(event).push(listener);
    if (latest.has(event)) queueMicrotask(() => listener(latest.get(event)));
    return () => listeners.set(event, listeners.get(event).filter((other) => other !== listener));
  }

  // The theme, the colours and the fonts of the host become CSS variables of the page.
  function applyContext(changes) {
    const context = { ...host.hostContext, ...changes };
    host = { ...host, hostContext: context };
    const root = document.documentElement;
    if (context.theme) {
      root.dataset.theme = context.theme;
      root.style.colorScheme = context.theme;
    }
    for (const [name, value] of Object.entries(context.styles?.variables ?? {})) {
      if (value != null) root.style.setProperty(name, value);
    }
    const fonts = context.styles?.css?.fonts;
    if (fonts) {
      const style = document.getElementById("mcp-fonts") ?? document.createElement("style");
      style.id = "mcp-fonts";
      style.textContent = fonts;
      document.head.append(style);
    }
  }

  // Versions before 2025-06-18 have no `structuredContent`: the server sends it as text.
  function withStructure(result) {
    const [only, ...others] = result?.content ?? [];
    if (!result || result.structuredContent !== undefined || only?.type !== "text" || others.length > 0) return result;
    try {
      const value = JSON.parse(only.text);
      return value !== null && typeof value === "object" ? { ...result, structuredContent: value } : result;
    } catch {
      return result;
    }
  }

  function answered({ id, result, error }) {
    const request = pending.get(id);
    if (!request) return;
    pending.delete(id);
    if (error) {
      request.reject(Object.assign(new Error(error.message), { code: error.code, data: error.data }));
    } else {
      request.resolve(result);
    }
  }

  async function asked({ id, method, params }) {
    if (method === "ping") return send({ id, result: {} });
    if (method !== "ui/resource-teardown") {
      return send({ id, error: { code: -32601, message: `the page has no method ${method}` } });
    }
    try {
      await emit("teardown", params ?? {});
      send({ id, result: {} });
    } catch (error) {
      send({ id, error: { code: -32000, message: String(error) } });
    }
  }

  function notified(method, params = {}) {
    const event = method.startsWith("ui/notifications/") ? method.slice("ui/notifications/".length) : "";
    if (event === "teardown" || !listeners.has(event)) return;
    if (event === "host-context-changed") {
      applyContext(params);
      params = host.hostContext;
    }
    if (event.startsWith("tool-input")) params = params.arguments ?? {};
    if (event === "tool-result") params = withStructure(params);
    emit(event, params);
  }

  window.addEventListener("message", ({ source, data }) => {
    if (source !== window.parent || data?.jsonrpc !== "2.0") return;
    if (data.method === undefined) answered(data);
    else if (data.id === undefined) notified(data.method, data.params);
    else asked(data);
  });

  // Sends the size of the page whenever it is another one, at most once for each frame that is drawn.
  function watchSize() {
    let before = "";
    let isDue = false;
    const measure = () => {
      isDue = false;
      const root = document.documentElement;
      const width = Math.ceil(root.getBoundingClientRect().width);
      const height = Math.ceil(root.getBoundingClientRect().height);
      if (before === `${width} ${height}`) return;
      before = `${width} ${height}`;
      send({ method: "ui/notifications/size-changed", params: { width, height } });
    };
    const schedule = () => {
      if (!isDue) requestAnimationFrame(measure);
      isDue = true;
    };
    const observer = new ResizeObserver(schedule);
    observer.observe(document.documentElement);
    observer.observe(document.body);
    schedule();
  }

  // A frame without permissions cannot follow links, so the host does.
  function followLinks() {
    document.addEventListener("click", (event) => {
      const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
      if (event.defaultPrevented || !link || !/^https?:$/.test(link.protocol)) return;
      event.preventDefault();
      openLink(link.href).catch((error) => console.warn(`the host does not open ${link.href}: ${error.message}`));
    });
  }

  async function connect() {
    if (window.parent === window) throw new Error("the page is not shown by a host");
    if (document.readyState === "loading") {
      await new Promise((loaded) => document.addEventListener("DOMContentLoaded", loaded, { once: true }));
    }
    const modes = document.querySelector("meta[name=mcp-display-modes]")?.content ?? "inline";
    const result = await request("ui/initialize", {
      protocolVersion: VERSION,
      appInfo: { name: document.title || "app", version: "1" },
      appCapabilities: { availableDisplayModes: modes.trim().split(/\s+/) },
    });
    host = { ...result, hostContext: {} };
    applyContext(result.hostContext);
    send({ method: "ui/notifications/initialized" });
    watchSize();
    followLinks();
    return host;
  }

  const ready = connect();
  ready.catch((error) => console.warn(`mcpApp: ${error.message}`));

  async function requestWhenReady(method, params) {
    await ready;
    return request(method, params);
  }

  const openLink = (url) => requestWhenReady("ui/open-link", { url: String(url) });

  return Object.freeze({
    ready,
    on,
    openLink,
    get hostContext() {
      return host.hostContext ?? {};
    },
    callTool: (name, args = {}) => requestWhenReady("tools/call", { name, arguments: args }).then(withStructure),
    readResource: (uri) => requestWhenReady("resources/read", { uri }),
    sendMessage: (text) => requestWhenReady("ui/message", { role: "user", content: { type: "text", text } }),
    updateModelContext: (context) => requestWhenReady("ui/update-model-context", context),
    requestDisplayMode: (mode) => requestWhenReady("ui/request-display-mode", { mode }),
    log: (level, data) => ready.then(() => send({ method: "notifications/message", params: { level, data } })),
  });
})();
