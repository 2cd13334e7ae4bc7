/**
 * The log: JSON lines on standard output, gathered before they are written. What is logged is named field by field;
 * request bodies, answers, keys and credentials never are.
 */
import pino from 'pino'

export type Log = pino.Logger

/** How long a line may wait to be written together with others. */
const flushMs = 500

/** A log for this thread. */
export function openLog(level: string, about: Readonly<Record<string, unknown>> = {}): Log {
  const destination = pino.destination({ fd: 1, sync: false, minLength: 8192 })
  const log = pino({ level, base: about, timestamp: pino.stdTimeFunctions.isoTime }, destination)
  setInterval(() => destination.flush(), flushMs).unref()
  process.once('exit', () => destination.flushSync())
  return log
}
