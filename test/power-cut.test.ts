/** Power cuts on a disk that remembers what was flushed (sim/power-cut.ts): what was told is there again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whyNot } from '../sim/power-cut.ts'
import { powerTrials } from './long/power-cut.ts'

const skip = whyNot() ?? false

test(
  'ten times the power goes with 64 streams open: nothing completed is lost or doubled, nothing stays held',
  { skip },
  async (t) => {
    const trials = await powerTrials(t, 'relay', 10)
    assert.equal(trials.length, 10)
    for (const { trial, completed, interrupted, cut } of trials) {
      const disk = `${cut.flushes} flushes, ${cut.unsure} writes after the last of them, ${cut.lost} lost`
      t.diagnostic(`${trial}: ${completed} completed, ${interrupted} interrupted; ${disk}`)
      assert.ok(interrupted > 0)
    }
  },
)

test(
  'the same disk loses what is not synced: commits with synchronous=normal and off, none with full',
  { skip },
  async (t) => {
    for (const [synchronous, isLosing] of [
      ['full', false],
      ['normal', true],
      ['off', true],
    ] as const) {
      const trials = await powerTrials(t, synchronous, 3)
      const lost = trials.map((trial) => trial.lost)
      t.diagnostic(
        `synchronous=${synchronous}: ${lost.join(', ')} of ${trials.map(({ told }) => told).join(', ')} lost`,
      )
      assert.ok(trials.every(({ check }) => check === 'ok'))
      assert.equal(
        lost.some((commits) => commits > 0),
        isLosing,
      )
    }
  },
)
