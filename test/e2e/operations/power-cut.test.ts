// @backend sqlite – the power-cut disk holds the files of SQLite
// @suite all – repeats power cuts
/** Power cuts on a disk that keeps only flushed writes (sim/power-cut.ts): everything acknowledged survives. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { powerCutSkipReason } from '../../../sim/power-cut.ts'
import { runPowerCutTrials } from '../../long/power-cut.ts'

const skip = powerCutSkipReason() ?? false

describe('Power cuts', () => {
  test(
    'Power cut with 64 open streams – loses and duplicates nothing, leaves no holds (×10)',
    { skip },
    async (t) => {
      const trials = await runPowerCutTrials(t, 'relay', 10)
      assert.equal(trials.length, 10)
      for (const { trial, completed, interrupted, cut } of trials) {
        const disk = `${cut.flushes} flushes, ${cut.unflushed} later writes, ${cut.lost} of them lost`
        t.diagnostic(`${trial}: ${completed} completed, ${interrupted} interrupted; ${disk}`)
        assert.ok(interrupted > 0)
      }
    },
  )

  test(
    'Power-cut disk – loses commits with synchronous=normal and off, none with full',
    { skip },
    async (t) => {
      for (const [synchronous, losesCommits] of [
        ['full', false],
        ['normal', true],
        ['off', true],
      ] as const) {
        const trials = await runPowerCutTrials(t, synchronous, 3)
        const lost = trials.map((trial) => trial.lost)
        t.diagnostic(
          `synchronous=${synchronous}: ${lost.join(', ')} of ${trials.map(({ committed }) => committed).join(', ')} lost`,
        )
        assert.ok(trials.every(({ check }) => check === 'ok'))
        assert.equal(
          lost.some((commits) => commits > 0),
          losesCommits,
        )
      }
    },
  )
})
