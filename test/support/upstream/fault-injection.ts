/**
 * Faults of upstreams: wrappers around scripts, and scripts that only fail. Each overrides one operation of the exchange,
 * so they can be combined: `paceEvents(truncateAfter(3, 'end', respondWith('Hi')), 20)`.
 */

import { isStreamingRequest } from './exchange.ts'
import type { Exchange, Script } from './exchange.ts'
import { respondWithEvents, respondWithJson } from './scripted-responses.ts'

/** Sends nothing, not even headers, until the caller disconnects. */
export const neverRespond: Script = (exchange) => untilDisconnect(exchange)

/** Sends the headers of a stream, then nothing until the caller disconnects. */
export const hangAfterHeaders: Script = (exchange) => {
  exchange.head(200, { 'content-type': 'text/event-stream' })
  return untilDisconnect(exchange)
}

/** Destroys the connection instead of responding. */
export const resetConnection: Script = async (exchange) => exchange.reset()

/** Sends a body that is neither JSON nor events, with the expected content type. */
export const respondWithGarbage: Script = (exchange) => {
  const noise = '<html>\u0000\u0007 502 Bad Gateway </html>\n{"choices":[{\n'
  if (!isStreamingRequest(exchange.request)) return respondWithJson(200, noise)(exchange)
  return respondWithEvents([])({ ...exchange, end: () => exchange.write(noise).then(() => exchange.end()) })
}

/** Stops after `count` events: `reset` destroys the connection, `end` ends the response cleanly, `hang` sends nothing more. */
export function truncateAfter(count: number, how: 'reset' | 'end' | 'hang', script: Script): Script {
  return beforeEvent(count, script, async (exchange) => {
    if (how === 'reset') exchange.reset()
    if (how === 'end') await exchange.end()
    if (how === 'hang') await untilDisconnect(exchange)
    return false
  })
}

/** Sends an error event after `count` events, then ends. */
export function failAfter(count: number, error: Record<string, unknown>, script: Script): Script {
  return beforeEvent(count, script, async (exchange) => {
    await exchange.event(JSON.stringify({ error }))
    await exchange.end()
    return false
  })
}

/** Pauses after `count` events until `resume` resolves. */
export function pauseAfter(count: number, resume: Promise<unknown>, script: Script): Script {
  return beforeEvent(count, script, (exchange) => waitForResume(exchange, resume))
}

/** Sends nothing until `resume` resolves. */
export function waitFor(resume: Promise<unknown>, script: Script): Script {
  return async (exchange) => (await waitForResume(exchange, resume)) && script(exchange)
}

/** Waits before it responds. */
export function delayBy(ms: number, script: Script): Script {
  return async (exchange) => (await exchange.pause(ms)) && script(exchange)
}

/** Waits before each event. */
export function paceEvents(script: Script, intervalMs: number): Script {
  return (exchange) =>
    script({
      ...exchange,
      async event(payload, name) {
        return (await exchange.pause(intervalMs)) && exchange.event.call(this, payload, name)
      },
    })
}

/** Sends all events at once, with the end of the response. */
export function inOneBurst(script: Script): Script {
  return (exchange) => {
    let events = ''
    return script({
      ...exchange,
      event(payload, name) {
        events += exchange.frame(payload, name)
        return Promise.resolve(true)
      },
      end: () => exchange.write(events).then(() => exchange.end()),
    })
  }
}

export interface SseFormat {
  /** Default: LF. */
  lineEnding?: '\n' | '\r\n' | '\r'
  /** A space after `data:`; default true. */
  hasSpace?: boolean
  /** Lines sent as a separate block before each event, e.g. `: comment`. */
  linesBefore?: string[]
  /** Lines sent inside each event, e.g. `id: 7`, `retry: 10`. */
  linesInside?: string[]
}

/** Sends the same events in other bytes that the standard allows (WHATWG HTML, 9.2 Server-sent events). */
export function formatEvents(format: SseFormat, script: Script): Script {
  const { lineEnding = '\n', hasSpace = true, linesBefore = [], linesInside = [] } = format
  return (exchange) =>
    script({
      ...exchange,
      frame(payload, name) {
        const field = (key: string, value: string) => `${key}:${hasSpace ? ' ' : ''}${value}`
        const named = name === undefined ? [] : [field('event', name)]
        const block = linesBefore.length > 0 ? [...linesBefore, ''] : []
        return [...block, ...linesInside, ...named, field('data', payload), '', ''].join(lineEnding)
      },
    })
}

/** Splits the body at these byte positions, or at every byte, into writes that arrive separately. */
export function splitAt(positions: number[] | 'every byte', script: Script, gapMs = 1): Script {
  return (exchange) => {
    let sent = 0
    return script({
      ...exchange,
      async write(bytes) {
        let rest = Buffer.from(bytes)
        let isOpen = true
        while (isOpen && rest.length > 0) {
          const next = positions === 'every byte' ? sent + 1 : positions.find((position) => position > sent)
          const part = rest.subarray(0, next === undefined ? rest.length : next - sent)
          if (sent > 0) await exchange.pause(gapMs)
          isOpen = await exchange.write(part)
          sent += part.length
          rest = rest.subarray(part.length)
        }
        return isOpen
      },
    })
  }
}

/** Destroys the connection after `bytes` bytes of the body. */
export function resetAfterBytes(bytes: number, script: Script): Script {
  return (exchange) => {
    let remaining = bytes
    return script({
      ...exchange,
      async write(part) {
        const taken = Buffer.from(part).subarray(0, remaining)
        remaining -= taken.length
        const isOpen = taken.length === 0 || (await exchange.write(taken))
        if (remaining === 0) exchange.reset()
        return isOpen && remaining > 0
      },
    })
  }
}

/** Runs `script` and calls `act` after `count` events. The script continues if `act` resolves to true. */
function beforeEvent(count: number, script: Script, act: (exchange: Exchange) => Promise<boolean>): Script {
  return (exchange) => {
    let sent = 0
    return script({
      ...exchange,
      async event(payload, name) {
        if (sent++ === count && !(await act(exchange))) return false
        return exchange.event.call(this, payload, name)
      },
    })
  }
}

async function waitForResume(exchange: Exchange, resume: Promise<unknown>): Promise<boolean> {
  await Promise.race([resume, exchange.request.over])
  return !exchange.signal.aborted
}

function untilDisconnect(exchange: Exchange): Promise<void> {
  return exchange.request.over
}
