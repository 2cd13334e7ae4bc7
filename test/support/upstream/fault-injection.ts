/**
 * How a good answer goes wrong: wrappers around scripts, and scripts that are nothing but a mishap. Each changes one
 * word of the exchange's language, so they can be put around each other: `slow(truncating(3, 'end', saying('Hi')), 20)`.
 */

import { asksForStream } from './exchange.ts'
import type { Exchange, Script } from './exchange.ts'
import { events, json } from './scripted-responses.ts'

/** Says nothing, not even headers, until the caller leaves. */
export const mute: Script = (exchange) => leaving(exchange)

/** Sends the headers of a stream, then nothing until the caller leaves. */
export const muteAfterHeaders: Script = (exchange) => {
  exchange.head(200, { 'content-type': 'text/event-stream' })
  return leaving(exchange)
}

/** Destroys the connection instead of answering. */
export const hangingUp: Script = async (exchange) => exchange.reset()

/** What is neither JSON nor events, under the type that was asked for. */
export const garbage: Script = (exchange) => {
  const noise = '<html>\u0000\u0007 502 Bad Gateway </html>\n{"choices":[{\n'
  if (!asksForStream(exchange.request)) return json(200, noise)(exchange)
  return events([])({ ...exchange, end: () => exchange.write(noise).then(() => exchange.end()) })
}

/** Stops after `count` events: `reset` destroys the connection, `end` ends the answer cleanly, `hang` falls silent. */
export function truncating(count: number, how: 'reset' | 'end' | 'hang', script: Script): Script {
  return beforeEvent(count, script, async (exchange) => {
    if (how === 'reset') exchange.reset()
    if (how === 'end') await exchange.end()
    if (how === 'hang') await leaving(exchange)
    return false
  })
}

/** Sends an error event after `count` events, then ends. */
export function failingAfter(count: number, error: Record<string, unknown>, script: Script): Script {
  return beforeEvent(count, script, async (exchange) => {
    await exchange.event(JSON.stringify({ error }))
    await exchange.end()
    return false
  })
}

/** Waits for the test's word after `count` events, then goes on. */
export function pausingAfter(count: number, word: Promise<unknown>, script: Script): Script {
  return beforeEvent(count, script, (exchange) => heard(exchange, word))
}

/** Waits for the test's word before it says anything. */
export function waitingFor(word: Promise<unknown>, script: Script): Script {
  return async (exchange) => (await heard(exchange, word)) && script(exchange)
}

/** Waits before it says anything. */
export function waiting(ms: number, script: Script): Script {
  return async (exchange) => (await exchange.pause(ms)) && script(exchange)
}

/** Waits before each event. */
export function slow(script: Script, paceMs: number): Script {
  return (exchange) =>
    script({
      ...exchange,
      async event(payload, name) {
        return (await exchange.pause(paceMs)) && exchange.event.call(this, payload, name)
      },
    })
}

export interface Lines {
  /** What ends a line; default LF. */
  ending?: '\n' | '\r\n' | '\r'
  /** A space after `data:`; default true. */
  space?: boolean
  /** Lines sent as a block of their own before each event, e.g. `: comment`. */
  before?: string[]
  /** Lines sent inside each event, e.g. `id: 7`, `retry: 10`. */
  inside?: string[]
}

/** The same events in other bytes that the standard allows (WHATWG HTML, 9.2 Server-sent events). */
export function writtenAs(lines: Lines, script: Script): Script {
  const { ending = '\n', space = true, before = [], inside = [] } = lines
  return (exchange) =>
    script({
      ...exchange,
      frame(payload, name) {
        const field = (key: string, value: string) => `${key}:${space ? ' ' : ''}${value}`
        const named = name === undefined ? [] : [field('event', name)]
        const block = before.length > 0 ? [...before, ''] : []
        return [...block, ...inside, ...named, field('data', payload), '', ''].join(ending)
      },
    })
}

/** Cuts the body at these byte positions, or at every byte, into writes that arrive apart. */
export function cutAt(positions: number[] | 'every byte', script: Script, gapMs = 1): Script {
  return (exchange) => {
    let sent = 0
    return script({
      ...exchange,
      async write(bytes) {
        let rest = Buffer.from(bytes)
        let going = true
        while (going && rest.length > 0) {
          const next = positions === 'every byte' ? sent + 1 : positions.find((position) => position > sent)
          const part = rest.subarray(0, next === undefined ? rest.length : next - sent)
          if (sent > 0) await exchange.pause(gapMs)
          going = await exchange.write(part)
          sent += part.length
          rest = rest.subarray(part.length)
        }
        return going
      },
    })
  }
}

/** Destroys the connection after `bytes` bytes of the body. */
export function cutOff(bytes: number, script: Script): Script {
  return (exchange) => {
    let left = bytes
    return script({
      ...exchange,
      async write(part) {
        const taken = Buffer.from(part).subarray(0, left)
        left -= taken.length
        const going = taken.length === 0 || (await exchange.write(taken))
        if (left === 0) exchange.reset()
        return going && left > 0
      },
    })
  }
}

/** Plays `script` with `act` before the event that follows `count` events. The script goes on when `act` says true. */
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

async function heard(exchange: Exchange, word: Promise<unknown>): Promise<boolean> {
  await Promise.race([word, exchange.request.over])
  return !exchange.signal.aborted
}

function leaving(exchange: Exchange): Promise<void> {
  return exchange.request.over
}
