/**
 * The logger: JSON lines, which a program writes to its standard output. Callers log named fields only; request bodies,
 * responses, keys and credentials are never logged. Logging never stops the relay, even if nobody reads its output.
 */
import { isMainThread } from 'node:worker_threads'
import pino from 'pino'
import { openLogOutput } from './log-output.ts'

/** Takes the lines of a log. */
export interface LogSink {
  /** A text of whole lines. */
  write(lines: string): void
  /** Where other threads write their own lines. Absent: they send them to the thread of this sink. */
  readonly descriptor?: number
}

/** Fields of all lines of a thread. */
export type LogBindings = Readonly<Record<string, unknown>>

export interface Log extends pino.Logger {
  /**
   * Writes one line at level `info` at a fifth of the cost of pino's pipeline, for events of every request. `fields`
   * must hold at least one value and no errors; `message` must need no JSON escapes.
   */
  line(fields: Readonly<Record<string, unknown>>, message: string): void
}

/** How long a line may be buffered. */
const flushMs = 500
/** Per thread, while the output cannot be written. */
const maxBufferedChars = 1024 ** 2

type LineEncoder = (level: string, encodedFields: string, message: string) => string

function lineEncoder(bindings: LogBindings): LineEncoder {
  const encodedBindings = Object.entries(bindings)
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`)
    .join('')
  return (level, encodedFields, message) =>
    `{"level":${pino.levels.values[level]},"time":"${new Date().toISOString()}",${encodedBindings}${encodedFields},"msg":"${message}"}\n`
}

/** The standard output of the process as the sink of this thread: buffered, and written out when the thread exits. */
export function openStandardOutput(bindings: LogBindings = {}): LogSink {
  // The first access makes a pipe non-blocking, for all threads: otherwise one that nobody reads would block writes.
  if (isMainThread) void process.stdout
  const encodeLine = lineEncoder(bindings)
  const descriptor = 1
  const output = openLogOutput(descriptor, {
    maxBufferedChars,
    droppedLine: (count) => encodeLine('warn', `"lines":${count}`, 'dropped log lines: nobody read them'),
  })
  setInterval(() => output.flush(), flushMs).unref()
  process.once('exit', () => output.flushSync())
  return { write: (lines) => output.write(lines), descriptor }
}

/** Creates a logger of this thread. */
export function createLog(level: string, sink: LogSink, bindings: LogBindings = {}): Log {
  const encodeLine = lineEncoder(bindings)
  const log = pino({ level, base: bindings, timestamp: pino.stdTimeFunctions.isoTime }, sink)
  return Object.assign(log, {
    line(fields: Readonly<Record<string, unknown>>, message: string): void {
      if (!log.isLevelEnabled('info')) return
      // Concatenated as text, which saves an object with all fields per line.
      sink.write(encodeLine('info', JSON.stringify(fields).slice(1, -1), message))
    },
  })
}

/** Logs nothing. */
export function createSilentLog(): Log {
  return createLog('silent', { write: () => {} })
}
