/** Workers for Scylla, the task queue and workflow engine inside PostgreSQL. Times are in milliseconds. */

/** Why a handler is asked to stop: the task was cancelled; its lease expired or could not be extended in time; the worker stops. */
export type StopReason = 'cancelled' | 'lease-lost' | 'stopping';

/** A task as it was when it was leased. */
export interface Task<Spec = any> {
  readonly rn: string;
  readonly queue: string;
  readonly spec: Spec;
  readonly priority: number;
  readonly created: Date;
  /** The results of the tasks that this one depended on. */
  readonly args: readonly any[];
  /** The errors of earlier attempts. */
  readonly errors: readonly any[];
  readonly attempt: number;
  readonly failures: number;
  readonly maxAttempts: number | null;
  readonly plan: string | null;
  readonly key: string | null;
  /** Where it has been placed; null: nowhere, or it needs several pools at once. */
  readonly pool: string | null;
}

/** The argument of a handler: its task, and calls about it. Valid while the handler runs. */
export interface Job<Spec = any> {
  readonly task: Task<Spec>;
  readonly rn: string;
  readonly spec: Spec;
  readonly attempt: number;
  /** The name of the worker. */
  readonly worker: string;
  /**
   * Is aborted, with a StopError, when the result is not needed any more: the task was cancelled, its lease was lost, or the
   * grace of a worker that stops is over.
   */
  readonly signal: AbortSignal;
  readonly stopRequested: boolean;
  readonly stopReason: StopReason | null;
  /** 0 to 1, for display; sent with one of the next heartbeats. Values outside are clamped. */
  progress(value: number): void;
  /** Sleeps. True at once when a stop is requested, false after that time. */
  sleep(milliseconds: number): Promise<boolean>;
}

/** Returned by a handler that has metrics for its task, besides a result. */
export class Complete {
  constructor(result?: unknown, metrics?: unknown);
  readonly result: unknown;
  readonly metrics: unknown;
}

/** Thrown by a handler: the task cannot be done, and ends as aborted. */
export class AbortTask extends Error {
  constructor(code: string, message?: string, args?: Record<string, unknown>);
  readonly code: string;
  readonly args: Record<string, unknown>;
}

/** Thrown by a handler: an error that may be temporary. The task is retried after `retryAfter`, or when its policy says. */
export class FailTask extends Error {
  constructor(code: string, message?: string, args?: Record<string, unknown>, options?: { retryAfter?: number | null });
  readonly code: string;
  readonly args: Record<string, unknown>;
  readonly retryAfter: number | null;
}

/** Thrown by a handler: another worker may run the task. It is ready again at once, and has not failed. */
export class YieldTask extends Error {
  constructor();
}

/** The reason of `job.signal`. */
export class StopError extends Error {
  constructor(reason: StopReason);
  readonly code: 'ABORT_ERR';
  readonly reason: StopReason;
}

/** Options of pg: `host`, `port`, `database`, `user`, `password`, `ssl`, … Missing ones come from the environment. */
export interface ConnectionConfig {
  connectionString?: string;
  host?: string;
  port?: number;
  database?: string;
  user?: string;
  password?: string | (() => string | Promise<string>);
  ssl?: boolean | object;
  application_name?: string;
  connectionTimeoutMillis?: number;
  options?: string;
  [option: string]: unknown;
}

/** A log entry. README.md lists the events. */
export interface LogEntry {
  readonly level: 'debug' | 'info' | 'warning' | 'error';
  readonly event: string;
  readonly message: string;
  /** The task that it is about. */
  readonly rn: string | null;
  /** Of the error, if it is a server error. */
  readonly sqlstate: string | null;
  readonly worker: string | null;
}

export interface WorkerOptions {
  /** A connection string, or options of pg. Of several, the first that accepts writes is used. Default: the environment. */
  connection?: string | ConnectionConfig | ReadonlyArray<string | ConnectionConfig>;
  /** One queue, or up to 64, which are used in turn. */
  queues: string | readonly string[];
  /** Default: the server assigns one. Two workers must not have the same name. */
  name?: string | null;
  /** How many handlers may run at the same time: 1 by default. */
  concurrency?: number;
  /** How many more tasks may be leased than run, so that short tasks need not wait for the network: 0 by default. */
  prefetch?: number;
  /** Maximum number of tasks that one call leases, finishes or extends: 200 by default. */
  maxBatch?: number;
  /** How long a lease lasts without a heartbeat. Default: as the queue says. Heartbeats are sent when a third of it has passed. */
  leaseTimeout?: number | null;
  /** How long running handlers may continue after stop() before their tasks are yielded: 5000 by default. */
  stopGrace?: number;
  /**
   * Is called before each lease: how many tasks to lease now, given how many there is room for. If it returns less, it is called
   * again after `capacityInterval` (1000).
   */
  capacity?: ((room: number) => number) | null;
  capacityInterval?: number;
  /**
   * Whether an idle worker sleeps by CALL scylla.wait_any: true by default. Otherwise, or where the server refuses that, it
   * polls, at first every `pollMin` (50), then less and less often, down to every `pollMax` (1000).
   */
  useWait?: boolean;
  pollMin?: number;
  pollMax?: number;
  /** How long a call may take before its connection counts as lost: 30000 by default. */
  callTimeout?: number;
  /** Pauses between attempts to connect, doubled from the first (100) to the last (5000). */
  reconnectMin?: number;
  reconnectMax?: number;
  /** Is called for each log entry. Default: warnings and errors go to stderr. */
  log?: ((entry: LogEntry) => void) | null;
}

/** Totals since the worker was made, and present numbers. */
export interface Counters {
  leased: number;
  completed: number;
  failed: number;
  aborted: number;
  yielded: number;
  /** Leases that were no longer the worker's. */
  lost: number;
  /** Tasks that were cancelled while the worker held them. */
  cancelled: number;
  /** Leases extended. */
  heartbeats: number;
  /** Sleeps by scylla.wait_any. */
  waits: number;
  /** Sleeps without it. */
  polls: number;
  /** Connections made, the first ones included. */
  connections: number;
  /** Leases now. */
  held: number;
  /** Handlers now. */
  running: number;
}

/**
 * Runs one task. Returns its result: anything that JSON.stringify accepts, nothing, or a Complete. Throws AbortTask, FailTask or
 * YieldTask; anything else fails the task with the code "exception", or yields it if the handler has been asked to stop.
 */
export type Handler<Spec = any> = (job: Job<Spec>) => unknown;

/** Leases tasks, runs the handler on them, extends the leases, and finishes the tasks. */
export class Worker<Spec = any> {
  /** Throws a RangeError if the options make no sense. Connects to nothing yet. */
  constructor(options: WorkerOptions, handler: Handler<Spec>);
  /**
   * Works until stop(). Once per worker. Resolves to how many handlers were still running when their tasks were yielded.
   * Rejects with the error of pg for errors that cannot be temporary: no extension, no privilege.
   */
  run(): Promise<number>;
  /** Makes run() return: no more leases; handlers are asked to stop; tasks that are not finished within the grace are yielded. */
  stop(): void;
  /** stop() on SIGTERM and SIGINT until run() returns. A second signal ends the grace. */
  stopOnSignals(): void;
  /** Null until the server has assigned one. */
  readonly name: string | null;
  counters(): Counters;
}
