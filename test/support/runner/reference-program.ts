/**
 * A fixed program whose CPU time is the unit of CPU budgets, because machines differ by a factor of five. It does what
 * tests do most: it parses and writes JSON, matches text, hashes, sorts and allocates. Prints its CPU time in ms.
 */
import { createHash } from 'node:crypto'

const rounds = 400

function work(round: number): number {
  const rows = Array.from({ length: 400 }, (_, index) => ({
    id: `row-${(index * 7919 + round) % 400}`,
    amount: (index * 104_729) % 9973,
    text: 'The quick brown fox jumps over the lazy dog. '.repeat(2),
  }))
  const text = JSON.stringify(rows)
  const parsed = JSON.parse(text) as typeof rows
  const sorted = parsed.toSorted((a, b) => a.amount - b.amount || a.id.localeCompare(b.id))
  const words = text.match(/\b[a-z]{4,}\b/g)?.length ?? 0
  const digest = createHash('sha256').update(text).digest()
  return words + sorted.length + (digest[0] ?? 0)
}

let sum = 0
for (let round = 0; round < rounds; round += 1) sum += work(round)
const { user, system } = process.cpuUsage()
if (sum > 0) console.log(Math.round((user + system) / 1000))
