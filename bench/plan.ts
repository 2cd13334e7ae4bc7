/** What is measured, under which load, and what the product is held to (design: figures against the bare relay). */

import { eventsPerStream, thinkMs } from './payloads.ts'
import type { Load } from './measure.ts'
import type { SubjectName } from './subjects.ts'

export const groups = [
  '1kb',
  '40kb',
  'stream',
  'latency',
  '256',
  'dialects',
  'ledger',
  'cluster',
  'pressure',
] as const
export type Group = (typeof groups)[number]

export interface Measurement {
  group: Group
  title: string
  load: Load
  /** What processor time is divided by. */
  unit: 'request' | 'chunk'
  /** What is compared with, and called so in the tables; the bare relay unless said. */
  base?: { readonly name: SubjectName; readonly words: string }
  /** Whom the target is for; the product unless said. */
  judged?: SubjectName[]
  /** The most that the judged may take, as a share of what the base takes. */
  targetRatio?: number
  /** The most that the product may add to the median latency, beside one disk sync. */
  targetAddedMs?: number
  /** Every answer has to be right. */
  targetNoFailure?: boolean
  subjects: SubjectName[]
}

export const streamPaceMs = 20
const streams = 200

const sizes = { '1kb': '1 KB', '40kb': '40 KB' }
const relays: SubjectName[] = ['nginx', 'bare', 'sluice']

/** Every measurement of one run, `seconds` of measured time each (streams and the single connection as they need). */
export function planOf(seconds: number): Measurement[] {
  return [
    { ...wholeAnswers('1kb', 64, seconds), targetRatio: 1 },
    wholeAnswers('1kb', 8, seconds),
    { ...wholeAnswers('40kb', 64, seconds), targetRatio: 0.75 },
    wholeAnswers('40kb', 8, seconds),
    { ...pacedStreams(seconds), targetRatio: 0.9 },
    oneConnection('1kb', 'an upstream that answers at once', seconds),
    {
      ...oneConnection('thinking', `an upstream that thinks for ${thinkMs} ms`, seconds),
      targetAddedMs: 0.5,
    },
    { ...wholeAnswers('1kb', 256, seconds), group: '256', targetNoFailure: true },
    translated(wholeAnswers('1kb', 64, seconds)),
    { ...translated(pacedStreams(seconds)), targetRatio: 2 },
  ]
}

function wholeAnswers(question: '1kb' | '40kb', connections: number, seconds: number): Measurement {
  return {
    group: question,
    title: `${sizes[question]}, ${connections} connections`,
    load: { question, connections, warmSeconds: 0.5, seconds },
    unit: 'request',
    subjects: relays,
  }
}

function pacedStreams(seconds: number): Measurement {
  const streamSeconds = (eventsPerStream * streamPaceMs) / 1000
  return {
    group: 'stream',
    title: `${streams} streams of ${eventsPerStream} chunks, one every ${streamPaceMs} ms`,
    load: {
      question: 'stream',
      connections: streams,
      warmSeconds: 1,
      seconds: Math.max(seconds, 2 * streamSeconds),
    },
    unit: 'chunk',
    subjects: relays,
  }
}

/** Answers of other dialects, translated, beside the same answers passed on. */
function translated(measurement: Measurement): Measurement {
  return {
    ...measurement,
    group: 'dialects',
    title: `Translated: ${measurement.title}`,
    subjects: ['sluice', 'anthropic', 'gemini'],
    base: { name: 'sluice', words: 'passing on' },
    judged: ['anthropic', 'gemini'],
  }
}

function oneConnection(question: '1kb' | 'thinking', upstream: string, seconds: number): Measurement {
  return {
    group: 'latency',
    title: `1 KB, one connection, ${upstream}`,
    load: { question, connections: 1, warmSeconds: 0.3, seconds: Math.max(2, seconds * 0.7) },
    unit: 'request',
    subjects: ['direct', ...relays],
  }
}
