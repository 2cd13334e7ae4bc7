/** What a promise to the disk costs where the data directory lies: 4 KiB appended and synchronised. */

import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export interface SyncTimes {
  p50Ms: number
  p99Ms: number
}

export function measureSync(directory: string, times = 300): SyncTimes {
  const place = mkdtempSync(join(directory, 'sync-'))
  const file = openSync(join(place, 'probe'), 'w')
  const page = Buffer.alloc(4096, 1)
  const tookMs: number[] = []
  for (let round = 0; round < times; round++) {
    const start = performance.now()
    writeSync(file, page)
    fdatasyncSync(file)
    tookMs.push(performance.now() - start)
  }
  closeSync(file)
  rmSync(place, { recursive: true })
  tookMs.sort((left, right) => left - right)
  const at = (share: number) => tookMs[Math.floor(share * (times - 1))] ?? 0
  return { p50Ms: at(0.5), p99Ms: at(0.99) }
}
