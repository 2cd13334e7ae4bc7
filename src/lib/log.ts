/**
 * The log: JSON lines on standard output, gathered before they are written. What is logged is named field by field;
 * request bodies, answers, keys and credentials never are.
 */
import pino from 'pino'

export interface Log extends pino.Logger {
  /**
   * One line at level `info`, for what happens with every request: written as it is, at a fifth of what a line through
   * all of pino's steps costs. `fields` hold no errors and nothing nested.
   */
  line(fields: Readonly<Record<string, unknown>>, message: string): void
}

/** How long a line may wait to be written together with others. */
const flushMs = 500

/** A log for this thread. */
export function openLog(level: string, about: Readonly<Record<string, unknown>> = {}): Log {
  const destination = pino.destination({ fd: 1, sync: false, minLength: 8192 })
  const log = pino({ level, base: about, timestamp: pino.stdTimeFunctions.isoTime }, destination)
  setInterval(() => destination.flush(), flushMs).unref()
  process.once('exit', () => destination.flushSync())
  const level30 = pino.levels.values['info']
  return Object.assign(log, {
    line(fields: Readonly<Record<string, unknown>>, msg: string): void {
      if (!log.isLevelEnabled('info')) return
      const time = new Date().toISOString()
      destination.write(`${JSON.stringify({ level: level30, time, ...about, ...fields, msg })}\n`)
    },
  })
}
