/** The samples in docs/clients/, for the tests that run them. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

/** The blocks of code in a guide that are tagged `run`, with this address of the relay and this model. */
export function readSamples(guide: string, url: string, model: string): string[] {
  const text = readFileSync(new URL(`../docs/clients/${guide}.md`, import.meta.url), 'utf8')
  const samples = Array.from(text.matchAll(/```(?:python|ts|sh) run\n(.*?)```/gs), ([, code = '']) => code)
  assert.notEqual(samples.length, 0, `no sample in ${guide}.md`)
  return samples.map((sample) => {
    assert.ok(sample.split('\n').length <= 11, `a sample in ${guide}.md has more than ten lines`)
    return sample.replaceAll('http://127.0.0.1:8080', url).replaceAll(/family-a-\w+/g, model)
  })
}
