/** Measures the latency of a disk sync in the data directory: 4 KiB appended and synchronised. */

import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export interface SyncTimes {
  p50Ms: number
  p99Ms: number
}

export function measureDiskSync(directory: string, times = 300): SyncTimes {
  const probeDirectory = mkdtempSync(join(directory, 'sync-'))
  const file = openSync(join(probeDirectory, 'probe'), 'w')
  const page = Buffer.alloc(4096, 1)
  const tookMs: number[] = []
  for (let round = 0; round < times; round++) {
    const start = performance.now()
    writeSync(file, page)
    fdatasyncSync(file)
    tookMs.push(performance.now() - start)
  }
  closeSync(file)
  rmSync(probeDirectory, { recursive: true })
  tookMs.sort((left, right) => left - right)
  const percentile = (share: number) => tookMs[Math.floor(share * (times - 1))] ?? 0
  return { p50Ms: percentile(0.5), p99Ms: percentile(0.99) }
}
