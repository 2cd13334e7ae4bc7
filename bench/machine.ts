/** The machine and the extent of a run in one sentence. */

import { cpus, release, totalmem } from 'node:os'

import type { Run } from './measured-run.ts'

export function describeMachine(run: Run): string {
  const [first] = cpus()
  return [
    `${first?.model.trim() ?? 'unknown processor'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB;`,
    `Linux ${release()}; Node ${process.versions.node}; nginx ${run.nginx ?? 'not installed'};`,
    `a disk sync of 4 KiB takes ${run.sync.p50Ms.toFixed(2)} ms (p50; p99 ${run.sync.p99Ms.toFixed(2)} ms).`,
    `${run.workers} worker${run.workers === 1 ? '' : 's'} each; ${run.rounds} rounds of ${run.seconds} s, after ${run.seconds} s of warm-up.`,
  ].join(' ')
}
