/** What is measured under which load, and the targets for the product. */

import { responsesResponse } from './operation-payloads.ts'
import { eventsPerStream, delayMs, type RequestKind } from './payloads.ts'
import type { Load } from './measure.ts'
import type { SubjectName } from './subjects.ts'

export const groups = [
  '1kb',
  '40kb',
  'stream',
  'latency',
  '256',
  'formats',
  'operations',
  'ledger',
  'verification',
  'cluster',
  'overload',
] as const
export type Group = (typeof groups)[number]

export interface Measurement {
  group: Group
  title: string
  load: Load
  /** The unit that processor time is divided by. */
  unit: 'request' | 'chunk'
  /** What the subjects are compared with, and its label in the tables. Default: the baseline relay. */
  base?: { readonly name: SubjectName; readonly label: string }
  /** The subjects that the target applies to. Default: the product. */
  targetSubjects?: SubjectName[]
  /** The maximum processor time, relative to the base. */
  targetRatio?: number
  /** The maximum latency that the product may add to the median, in addition to one disk sync. */
  targetAddedMs?: number
  /** Every response must be correct. */
  targetNoFailure?: boolean
  subjects: SubjectName[]
}

export const streamPaceMs = 20
const streams = 200

/** Of a translated response, relative to the same one passed through. */
const maxTranslatedRatio = 2

const sizes = { '1kb': '1 KB', '40kb': '40 KB' }
const relays: SubjectName[] = ['nginx', 'baseline', 'sluice']

/**
 * All measurements of a run, each with `seconds` of measured time (streams and the single connection as
 * required).
 */
export function buildPlan(seconds: number): Measurement[] {
  return [
    { ...nonStreaming('1kb', 64, seconds), targetRatio: 1 },
    nonStreaming('1kb', 8, seconds),
    { ...nonStreaming('40kb', 64, seconds), targetRatio: 0.75 },
    nonStreaming('40kb', 8, seconds),
    { ...pacedStreams(seconds), targetRatio: 0.9 },
    oneConnection('1kb', 'an upstream without delay', seconds),
    {
      ...oneConnection('thinking', `an upstream with a delay of ${delayMs} ms`, seconds),
      targetAddedMs: 0.5,
    },
    { ...nonStreaming('1kb', 256, seconds), group: '256', targetNoFailure: true },
    translated(nonStreaming('1kb', 64, seconds)),
    { ...translated(pacedStreams(seconds)), targetRatio: maxTranslatedRatio },
    ...operations(seconds),
  ]
}

function nonStreaming(kind: '1kb' | '40kb', connections: number, seconds: number): Measurement {
  return {
    group: kind,
    title: `${sizes[kind]}, ${connections} connections`,
    load: { kind, connections, warmSeconds: 0.5, seconds },
    unit: 'request',
    subjects: relays,
  }
}

function pacedStreams(seconds: number, chunks = eventsPerStream): Measurement {
  const streamSeconds = (chunks * streamPaceMs) / 1000
  return {
    group: 'stream',
    title: `${streams} streams of ${chunks} chunks, one every ${streamPaceMs} ms`,
    load: {
      kind: 'stream',
      connections: streams,
      warmSeconds: 1,
      seconds: Math.max(seconds, 2 * streamSeconds),
    },
    unit: 'chunk',
    subjects: relays,
  }
}

/** Translated responses of other formats, compared with the same responses passed through. */
function translated(measurement: Measurement): Measurement {
  return {
    ...measurement,
    group: 'formats',
    title: `Translated: ${measurement.title}`,
    subjects: ['sluice', 'anthropic', 'gemini'],
    base: { name: 'sluice', label: 'passthrough' },
    targetSubjects: ['anthropic', 'gemini'],
  }
}

/**
 * Other operations than chat completions; Responses passed through, and translated from chat completions. Their targets
 * are those of chat completions: no operation may be dearer to relay.
 */
function operations(seconds: number): Measurement[] {
  const whole = nonStreaming('1kb', 64, seconds)
  const streamed = pacedStreams(seconds, responsesResponse.events.length)
  const as = (measurement: Measurement, title: string, kind: RequestKind): Measurement => ({
    ...measurement,
    group: 'operations',
    title: `${title}: ${measurement.title}`,
    load: { ...measurement.load, kind },
  })
  const comparison = {
    subjects: ['sluice', 'translated'] as SubjectName[],
    base: { name: 'sluice', label: 'passthrough' },
    targetSubjects: ['translated'] as SubjectName[],
    targetRatio: maxTranslatedRatio,
  } as const
  return [
    { ...as(whole, 'Responses', 'responses'), targetRatio: 1 },
    { ...as(streamed, 'Responses', 'responses-stream'), targetRatio: 0.9 },
    { ...as(whole, 'Responses, translated', 'responses'), ...comparison },
    { ...as(streamed, 'Responses, translated', 'responses-stream'), ...comparison },
    { ...as(whole, 'Embeddings', 'embeddings'), targetRatio: 1 },
  ]
}

function oneConnection(kind: '1kb' | 'thinking', upstream: string, seconds: number): Measurement {
  return {
    group: 'latency',
    title: `1 KB, one connection, ${upstream}`,
    load: { kind, connections: 1, warmSeconds: 0.3, seconds: Math.max(2, seconds * 0.7) },
    unit: 'request',
    subjects: ['direct', ...relays],
  }
}
