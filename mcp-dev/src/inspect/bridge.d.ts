type McpToolName = keyof McpTools & string;
type McpArguments<Name extends McpToolName> = McpTools[Name]["arguments"];

interface McpToolResult<Name extends McpToolName> {
  content: { type: string; text?: string; [member: string]: unknown }[];
  /** Absent if the tool has no structured result, or failed. */
  structuredContent?: McpTools[Name]["result"];
  isError?: boolean;
  _meta?: Record<string, unknown>;
}

interface McpHostContext {
  theme?: "light" | "dark";
  displayMode?: "inline" | "fullscreen" | "pip";
  locale?: string;
  timeZone?: string;
  [member: string]: unknown;
}

/** What `<script src="mcp-app.js"></script>` is replaced with. A listener that is added later gets the latest value. */
declare const mcpApp: {
  /** Resolves when the host has answered, and fails if there is no host. */
  readonly ready: Promise<unknown>;
  readonly hostContext: McpHostContext;
  on(event: "tool-input", listener: (input: McpArguments<McpPageTool>) => void): () => void;
  on(event: "tool-input-partial", listener: (input: Partial<McpArguments<McpPageTool>>) => void): () => void;
  on(event: "tool-result", listener: (result: McpToolResult<McpPageTool>) => void): () => void;
  on(event: "tool-cancelled", listener: (why: { reason?: string }) => void): () => void;
  on(event: "host-context-changed", listener: (context: McpHostContext) => void): () => void;
  /** The host waits for the promise that the listener returns before it removes the page. */
  on(event: "teardown", listener: (why: { reason?: string }) => void | Promise<void>): () => void;
  callTool<Name extends McpToolName>(name: Name, args?: McpArguments<Name>): Promise<McpToolResult<Name>>;
  readResource(uri: string): Promise<{ contents: { uri: string; mimeType?: string; text?: string; blob?: string }[] }>;
  openLink(url: string | URL): Promise<unknown>;
  sendMessage(text: string): Promise<unknown>;
  updateModelContext(context: { content?: unknown[]; structuredContent?: object }): Promise<unknown>;
  requestDisplayMode(mode: "inline" | "fullscreen" | "pip"): Promise<{ mode: string }>;
  log(level: "debug" | "info" | "warning" | "error", data: unknown): Promise<void>;
};
