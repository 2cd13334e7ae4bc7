// @backend sqlite – no store
// @drives a browser
/** Each form that changes an existing object is saved unchanged by `browser-unchanged-forms.test.ts`. */
import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { describe, test } from 'node:test'
import { editForms } from '../../support/console/edit-forms.ts'
import { readText, root } from '../../support/source-files.ts'

/**
 * `UpstreamTest` sends nothing but `enabled` to the object; its field names the model of a test. `ConsentForm` records a
 * new consent with whatever it sends.
 */
const otherForms = ['ConsentForm', 'UpstreamTest']

/** The components that have a field and send a PATCH. */
function findEditForms(): string[] {
  return globSync('console/{components,pages}/**/*.tsx', { cwd: root }).flatMap((path) => {
    const [, ...functions] = readText(path).split(/^(?:export )?function (?=[A-Z])/m)
    return functions
      .filter((text) => /\buseDraft\b|<(Checkbox|Switch|Radio|\w+(Input|Field|Select)|Textarea)\b/.test(text))
      .filter((text) => /'PATCH'|'PUT'/.test(text))
      .map((text) => /^\w+/.exec(text)?.[0] ?? '')
  })
}

describe('Edit forms', () => {
  test('edit forms – are all saved unchanged by a test', () => {
    assert.deepEqual(
      findEditForms().toSorted(),
      [...Object.keys(editForms), ...otherForms].toSorted(),
      'Add a form to test/support/console/edit-forms.ts, with an object that has a value in every field.',
    )
  })
})
