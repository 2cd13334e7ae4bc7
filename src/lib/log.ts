/**
 * The log: JSON lines on standard output, gathered before they are written. What is logged is named field by field;
 * request bodies, answers, keys and credentials never are.
 */
import pino from 'pino'

export interface Log extends pino.Logger {
  /**
   * One line at level `info`, for what happens with every request: written as it is, at a fifth of what a line through
   * all of pino's steps costs. `fields` hold at least one value and no errors; `message` needs no escapes.
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
  const known = Object.entries(about).map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`,
  )
  return Object.assign(log, {
    line(fields: Readonly<Record<string, unknown>>, message: string): void {
      if (!log.isLevelEnabled('info')) return
      // Put together as text: an object of all fields would be made only to be thrown away.
      const time = new Date().toISOString()
      const own = JSON.stringify(fields).slice(1, -1)
      destination.write(`{"level":${level30},"time":"${time}",${known.join('')}${own},"msg":"${message}"}\n`)
    },
  })
}
