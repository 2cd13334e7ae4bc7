/**
 * An unexpected value of an upstream must not become a harmless default. Every default for a field that is read from a
 * response is listed here with its reason; another one is decided first: passed on, rejected, or marked as failed.
 */
import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { describe, test } from 'node:test'

import { readText, root } from '../support/source-files.ts'

/** Modules that read responses of upstreams, by the words of their names. */
const readers =
  /\b(?:response|usage|stream|collector|passthrough|output|object|items|failure|error|pieces|function-calls|meter)\b/
const defaults =
  /get(?:String|Number)\(\s*(?<from>[^,()]+(?:\([^()]*\)[^,()]*)*),\s*(?<name>'\w+'|\w+)\s*\)\s*(?:\?\?|\|\|)\s*(?<value>'[^']*'|\d+)/g

const ended = 'the response is complete, and an upstream that gives no reason has ended it by itself'
const first = 'an upstream that numbers nothing has one result, item or block'
const noText = 'there is no text to write'
const noType = 'a piece without a type is none of those that are looked for'
const described = 'an error stays an error without its words'

const reasons: Readonly<Record<string, string>> = {
  "stop_reason ?? 'end_turn'": ended,
  "stopReason ?? 'end_turn'": ended,
  "finishReason ?? 'STOP'": ended,
  "finish_reason ?? 'COMPLETE'": ended,
  "finish_reason || 'stop'": ended,
  "status ?? 'completed'": ended,
  "finish_reason ?? ''": 'there is no reason yet',
  'index ?? 0': first,
  'contentBlockIndex ?? 0': first,
  'output_index ?? 0': first,
  'content_index ?? 0': first,
  'summary_index ?? 0': first,
  "data ?? ''": noText,
  "text ?? ''": noText,
  "summary ?? ''": noText,
  "partial_json ?? ''": noText,
  "delta ?? ''": noText,
  "jsonPath ?? ''": 'a path without steps changes nothing',
  "type ?? ''": noType,
  "type ?? 'search'": 'calls of searches have had no action before November 2025',
  "type ?? 'api_error'": described,
  "type ?? 'server_error'": described,
  "status ?? 'INTERNAL'": described,
  "error ?? 'The provider ended its response early.'": described,
  "status_msg ?? 'error'": described,
  'code ?? 500': described,
  "name ?? ''": 'a call without a name reaches the caller, who sees that it has none',
  "id ?? ''": 'a call without an id gets one',
  "model ?? ''": 'the caller reads that the upstream names no model',
  "service_tier ?? 'default'": 'the tier of a response that names none is the default one',
}

interface Default {
  readonly path: string
  readonly text: string
}

/** The defaults in a module; those of the caller's own request are none of an upstream. */
function defaultsIn(path: string): Default[] {
  return Array.from(readText(path).matchAll(defaults), ({ groups = {}, 0: whole }) => {
    const { from = '', name = '', value = '' } = groups
    const operator = whole.includes('||') ? '||' : '??'
    return { from, path, text: `${name.replaceAll("'", '')} ${operator} ${value}` }
  }).filter(({ from }) => from !== 'request')
}

describe('Defaults for values of upstreams', () => {
  test('Each default is listed with its reason, and each reason has a default', () => {
    const paths = globSync('src/{providers,formats,relay}/**/*.ts', { cwd: root })
      .filter((path) => readers.test(path.replace(/^.*\//, '')) && !/\.(?:test|fixture)\.ts$/.test(path))
      .toSorted()
    const found = paths.flatMap(defaultsIn)
    const unlisted = found.filter(({ text }) => !Object.hasOwn(reasons, text))
    assert.deepEqual(unlisted, [])
    const used = new Set(found.map(({ text }) => text))
    assert.deepEqual(
      Object.keys(reasons).filter((text) => !used.has(text)),
      [],
    )
  })
})
