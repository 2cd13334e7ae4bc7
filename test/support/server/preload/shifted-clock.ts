/**
 * Preloaded into a relay by NODE_OPTIONS: shifts its clock ahead in every thread by CLOCK_AHEAD_MS, or by the milliseconds
 * in the file CLOCK_AHEAD_FILE, which may change while the relay runs.
 */
import { readFileSync } from 'node:fs'

const file = process.env['CLOCK_AHEAD_FILE']
const rereadEveryMs = 20
const systemNow = Date.now.bind(Date)
let aheadMs = Number(process.env['CLOCK_AHEAD_MS'] ?? '0')
let readAt = -Infinity

Date.now = () => {
  if (file !== undefined && performance.now() - readAt > rereadEveryMs) {
    readAt = performance.now()
    const text = readFileSync(file, 'utf8')
    // Empty while it is being written.
    if (text !== '') aheadMs = Number(text)
  }
  return systemNow() + aheadMs
}
