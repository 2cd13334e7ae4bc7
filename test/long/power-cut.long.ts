/** Two hundred power cuts, or POWER_TRIALS. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { powerCutSkipReason } from '../../sim/power-cut.ts'
import { runPowerCutTrials } from './power-cut.ts'

const count = Number(process.env['POWER_TRIALS'] ?? '200')

describe('Power cuts', () => {
  test(
    `Power cut with 64 open streams – loses and duplicates nothing, ${count} times`,
    { skip: powerCutSkipReason() ?? false },
    async (t) => {
      const trials = await runPowerCutTrials(t, 'relay', count)
      assert.equal(trials.length, count)
      const sum = (count: (trial: (typeof trials)[number]) => number): number =>
        trials.reduce((total, trial) => total + count(trial), 0)
      const requests = `${sum((trial) => trial.completed)} completed, ${sum((trial) => trial.interrupted)} interrupted`
      t.diagnostic(
        `${requests}; ${sum((trial) => trial.cut.unflushed)} unflushed writes, ${sum((trial) => trial.cut.lost)} lost`,
      )
    },
  )
})
