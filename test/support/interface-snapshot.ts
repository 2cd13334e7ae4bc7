/**
 * The recorded interfaces in `test/interface-snapshot/`, one file per topic, so that two changes of different interfaces
 * do not meet in one file. Each file has parts, and each part one line per entry.
 */
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { readText, root } from './source-files.ts'

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

export type Topic =
  | 'endpoints'
  | 'schema'
  | 'journal'
  | 'metrics'
  | 'headers'
  | 'errors'
  | 'settings'
  | 'commands'

const isUpdate = process.env['UPDATE_SNAPSHOT'] === '1'
const updateCommand = 'UPDATE_SNAPSHOT=1 npm test -- interface-snapshot'

function pathOf(topic: Topic): string {
  return `test/interface-snapshot/${topic}.json`
}

/** What is recorded of a topic, by part. */
export function readSnapshot(topic: Topic): Record<string, Json> {
  return JSON.parse(readText(pathOf(topic))) as Record<string, Json>
}

/** Compares a part of a topic with its file, or replaces it there when `UPDATE_SNAPSHOT=1`. */
export function compareWithSnapshot(topic: Topic, part: string, actual: unknown): void {
  const now = JSON.parse(JSON.stringify(actual)) as Json
  const snapshot = existsSync(join(root, pathOf(topic))) ? readSnapshot(topic) : {}
  const recorded = snapshot[part]
  if (isDeepStrictEqual(now, recorded)) return
  if (isUpdate) {
    writeFileSync(join(root, pathOf(topic)), `${render({ ...snapshot, [part]: now })}\n`)
    return
  }
  const whatToDo = `“${part}” differs from ${pathOf(topic)}. If that is intended, run \`${updateCommand}\` and commit it:`
  assert.fail([whatToDo, ...describeDifference(recorded ?? null, now)].join('\n'))
}

/** The lines that only one of both has, cut where they are long. */
function describeDifference(recorded: Json, now: Json): string[] {
  const [before, after] = [recorded, now].map((value) => new Set(render(value).split('\n')))
  const shortened = (sign: string, lines: Iterable<string>): string[] =>
    Array.from(lines, (line) => `  ${sign} ${line.trim().slice(0, 300)}`)
  return before === undefined || after === undefined
    ? []
    : [...shortened('-', before.difference(after)), ...shortened('+', after.difference(before))]
}

/** JSON with one line for each entry of a part, so that a difference shows what has changed. */
function render(value: Json, depth = 0): string {
  if (value === null || typeof value !== 'object' || depth === 3) return JSON.stringify(value)
  const indent = ' '.repeat(depth + 1)
  const lines = Array.isArray(value)
    ? value.map((each) => indent + JSON.stringify(each))
    : Object.entries(value).map(
        ([name, each]) => `${indent}${JSON.stringify(name)}: ${render(each, depth + 1)}`,
      )
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return lines.length === 0
    ? `${open}${close}`
    : `${open}\n${lines.join(',\n')}\n${' '.repeat(depth)}${close}`
}
