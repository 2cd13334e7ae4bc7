/**
 * The logger: buffered JSON lines on standard output. Callers log named fields only; request bodies, responses, keys and
 * credentials are never logged. Logging never stops the relay, even if nobody reads its output.
 */
import { isMainThread } from 'node:worker_threads'
import pino from 'pino'
import { openLogOutput } from './log-output.ts'

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

/** Creates the logger of this thread. */
export function createLog(level: string, bindings: Readonly<Record<string, unknown>> = {}): Log {
  const encodedBindings = Object.entries(bindings).map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`,
  )
  const encodeLine = (name: string, encodedFields: string, message: string): string =>
    `{"level":${pino.levels.values[name]},"time":"${new Date().toISOString()}",${encodedBindings.join('')}${encodedFields},"msg":"${message}"}\n`
  // The first access makes a pipe non-blocking, for all threads: otherwise one that nobody reads would block writes.
  if (isMainThread) void process.stdout
  const output = openLogOutput(1, {
    maxBufferedChars,
    droppedLine: (count) => encodeLine('warn', `"lines":${count}`, 'dropped log lines: nobody read them'),
  })
  const log = pino({ level, base: bindings, timestamp: pino.stdTimeFunctions.isoTime }, output)
  setInterval(() => output.flush(), flushMs).unref()
  process.once('exit', () => output.flushSync())
  return Object.assign(log, {
    line(fields: Readonly<Record<string, unknown>>, message: string): void {
      if (!log.isLevelEnabled('info')) return
      // Concatenated as text, which saves an object with all fields per line.
      output.write(encodeLine('info', JSON.stringify(fields).slice(1, -1), message))
    },
  })
}
