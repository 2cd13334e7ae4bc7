/** Two hundred power cuts, or as many as POWER_TRIALS says. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whyNot } from '../sim/power-cut.ts'
import { powerTrials } from './long/power-cut.ts'

const count = Number(process.env['POWER_TRIALS'] ?? '200')

test(
  `${count} times the power goes with 64 streams open: nothing is lost, doubled or left held`,
  { skip: whyNot() ?? false },
  async (t) => {
    const trials = await powerTrials(t, 'relay', count)
    assert.equal(trials.length, count)
    const sum = (of: (trial: (typeof trials)[number]) => number): number =>
      trials.reduce((total, trial) => total + of(trial), 0)
    const answers = `${sum((trial) => trial.completed)} completed, ${sum((trial) => trial.interrupted)} interrupted`
    t.diagnostic(
      `${answers}; ${sum((trial) => trial.cut.unsure)} unflushed writes, ${sum((trial) => trial.cut.lost)} lost`,
    )
  },
)
