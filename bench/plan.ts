/** What is measured under which load, and the targets for the product. */

import { responsesResponse } from './operation-payloads.ts'
import { eventsPerStream, delayMs, type RequestKind } from './payloads.ts'
import type { Load } from './measure.ts'
import type { SubjectName } from './subjects.ts'
import type { Bounds } from './targets.ts'

export const groups = [
  '1kb',
  '40kb',
  'stream',
  'again',
  'start',
  'latency',
  '256',
  'formats',
  'operations',
  'peers',
  'ledger',
  'verification',
  'cluster',
  'overload',
  'memory',
] as const
export type Group = (typeof groups)[number]

export interface Measurement {
  group: Group
  title: string
  load: Load
  rounds: number
  /** The unit that processor time is divided by. */
  unit: 'request' | 'chunk'
  /** What the subjects are compared with, and its label in the tables. Default: the baseline relay. */
  base?: { readonly name: SubjectName; readonly label: string }
  /** The subjects that the target applies to. Default: the product. */
  targetSubjects?: SubjectName[]
  /** Of the processor time, relative to the base. */
  targetRatio?: Bounds
  /** Of the latency that the product adds to the median, in addition to one disk sync. */
  targetAddedMs?: Bounds
  /** Every response must be correct. */
  targetNoFailure?: boolean
  /** The title of a measurement that this one repeats after other loads: of the two, the worse counts. */
  repeats?: string
  /** Each round is measured on relays that have just started, without a warm-up. */
  isFresh?: boolean
  subjects: SubjectName[]
}

/** How long a run takes: measured time per sample, and samples per subject. */
export interface Extent {
  readonly seconds: number
  readonly rounds: number
}

export const streamPaceMs = 20
const streams = 200
/** Few enough for the slowest peer. */
const peerStreams = 20

/** Of a translated response, relative to the same one passed through. */
const maxTranslatedRatio = { required: 2 }

const sizes = { '1kb': '1 KB', '40kb': '40 KB' }
const relays: SubjectName[] = ['nginx', 'baseline', 'sluice']

/** For rows without a target of their own: fewer and shorter samples. */
export function reducedExtent({ seconds, rounds }: Extent): Extent {
  return { seconds: seconds / 2, rounds: Math.max(1, Math.floor(rounds / 2)) }
}

/** All measurements of a run, in this order (streams as long as they take). */
export function buildPlan(extent: Extent): Measurement[] {
  const reduced = reducedExtent(extent)
  const warm: Measurement[] = [
    { ...nonStreaming('1kb', 64, extent), targetRatio: { required: 1.4, goal: 1 } },
    { ...nonStreaming('1kb', 8, extent), targetRatio: { required: 2.2, goal: 1.5 } },
    { ...nonStreaming('1kb', 1, extent), targetRatio: { required: 2.5, goal: 1.5 } },
    { ...nonStreaming('40kb', 64, extent), targetRatio: { required: 0.8, goal: 0.65 } },
  ]
  return [
    ...warm,
    nonStreaming('40kb', 8, reduced),
    { ...pacedStreams(extent), targetRatio: { required: 1, goal: 0.65 } },
    ...warm.map(afterStreams),
    firstSeconds(extent),
    {
      ...nonStreaming('thinking', 1, extent),
      group: 'latency',
      title: `1 KB, one connection, an upstream with a delay of ${delayMs} ms`,
      subjects: ['direct', ...relays],
      targetAddedMs: { required: 0.8, goal: 0.5 },
    },
    { ...nonStreaming('1kb', 256, reduced), group: '256', targetNoFailure: true },
    translated(nonStreaming('1kb', 64, reduced)),
    { ...translated(pacedStreams(reduced)), targetRatio: maxTranslatedRatio },
    ...operations(reduced),
    ...peers(reduced),
  ]
}

function nonStreaming(kind: '1kb' | '40kb' | 'thinking', connections: number, extent: Extent): Measurement {
  const { seconds, rounds } = extent
  const size = kind === 'thinking' ? '1kb' : kind
  return {
    group: size,
    title: `${sizes[size]}, ${connections === 1 ? 'one connection' : `${connections} connections`}`,
    load: { kind, connections, warmSeconds: 0.5, seconds },
    rounds,
    unit: 'request',
    subjects: connections === 1 ? ['direct', ...relays] : relays,
  }
}

function pacedStreams(
  { seconds, rounds }: Extent,
  chunks = eventsPerStream,
  connections = streams,
): Measurement {
  const streamSeconds = (chunks * streamPaceMs) / 1000
  return {
    group: 'stream',
    title: `${connections} streams of ${chunks} chunks, one every ${streamPaceMs} ms`,
    load: { kind: 'stream', connections, warmSeconds: 1, seconds: Math.max(seconds, 2 * streamSeconds) },
    rounds,
    unit: 'chunk',
    subjects: relays,
  }
}

/** The same load on relays that have served all others: their code and heap are not those of a single load. */
function afterStreams(measurement: Measurement): Measurement {
  const { title } = measurement
  return { ...measurement, group: 'again', title: `${title}, after streams`, repeats: title }
}

function firstSeconds(extent: Extent): Measurement {
  const measurement = nonStreaming('1kb', 64, extent)
  return {
    ...measurement,
    group: 'start',
    title: `The first ${extent.seconds} s after a start: ${measurement.title}`,
    load: { ...measurement.load, warmSeconds: 0 },
    isFresh: true,
    subjects: ['baseline', 'sluice'],
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
function operations(extent: Extent): Measurement[] {
  const whole = nonStreaming('1kb', 64, extent)
  const streamed = pacedStreams(extent, responsesResponse.events.length)
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
    { ...as(whole, 'Responses', 'responses'), targetRatio: { required: 1.4, goal: 1 } },
    { ...as(streamed, 'Responses', 'responses-stream'), targetRatio: { required: 1, goal: 0.65 } },
    { ...as(whole, 'Responses, translated', 'responses'), ...comparison },
    { ...as(streamed, 'Responses, translated', 'responses-stream'), ...comparison },
    { ...as(whole, 'Embeddings', 'embeddings'), targetRatio: { required: 1.4, goal: 1 } },
  ]
}

/** Other gateways in the same run (`peers.ts`). */
function peers(extent: Extent): Measurement[] {
  const subjects: SubjectName[] = ['baseline', 'sluice', 'portkey', 'litellm']
  return [nonStreaming('1kb', 64, extent), pacedStreams(extent, eventsPerStream, peerStreams)].map(
    (measurement) => ({
      ...measurement,
      group: 'peers',
      title: `Other gateways: ${measurement.title}`,
      subjects,
    }),
  )
}
