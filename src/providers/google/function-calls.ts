/**
 * Reads function calls from the parts of Gemini's responses. Vertex can send the arguments of a call in parts
 * (`toolConfig.functionCallingConfig.streamFunctionCallArguments`): values by path, long texts in several pieces.
 */
import { newId } from '../../lib/ids.ts'
import { getObject, getObjects, getString, type Json } from '../json-fields.ts'

export interface FunctionCall {
  readonly id: string
  readonly name: string
  readonly input: Json
}

type Container = unknown[] | Record<string, unknown>

/** A step of a path: `.name`, `[0]` or `['name']`. */
const step = /\.(?<name>[^.[\]]+)|\[(?<index>\d+)\]|\['(?<quoted>[^']*)'\]/y
/** Far above what models write; a bound on what is held in memory. */
const maxArgumentChars = 8 * 1024 * 1024

/** Splits a path like `$.a.b[0]` into its names and indexes. Throws if it is not valid. */
function parsePath(path: string): (string | number)[] {
  const steps: (string | number)[] = []
  if (!path.startsWith('$.') && !path.startsWith('$[')) throw new Error('Not a path of an argument.')
  for (step.lastIndex = 1; step.lastIndex < path.length;) {
    const { name, index, quoted } = step.exec(path)?.groups ?? {}
    if (index === undefined && name === undefined && quoted === undefined)
      throw new Error('Not a path of an argument.')
    steps.push(index === undefined ? (name ?? quoted ?? '') : Number(index))
  }
  return steps
}

/** Without a prototype, so that no name of an argument can reach one. */
function emptyObject(): Record<string, unknown> {
  return Object.create(null) as Record<string, unknown>
}

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null
}

function getValue(parent: Container, key: string | number): unknown {
  if (Array.isArray(parent)) return typeof key === 'number' ? parent[key] : undefined
  return typeof key === 'string' ? parent[key] : undefined
}

/** Lists have no gaps. */
function setValue(parent: Container, key: string | number, value: unknown): void {
  if (Array.isArray(parent) && typeof key === 'number' && key <= parent.length) parent[key] = value
  else if (!Array.isArray(parent) && typeof key === 'string') parent[key] = value
  else throw new Error('Not a path of an argument.')
}

/** The object or list at `key`, which is created if it is missing. */
function childAt(parent: Container, key: string | number, next: string | number): Container {
  const child = getValue(parent, key)
  if (isContainer(child)) return child
  const created: Container = typeof next === 'number' ? [] : emptyObject()
  setValue(parent, key, created)
  return created
}

function partValue(part: Json): unknown {
  for (const field of ['stringValue', 'numberValue', 'boolValue']) if (field in part) return part[field]
  return null
}

/** A call whose arguments have not arrived completely. */
class OpenCall implements FunctionCall {
  readonly id: string
  readonly name: string
  readonly input = emptyObject()
  #chars = 0

  constructor(id: string, name: string) {
    this.id = id
    this.name = name
  }

  add(call: Json): void {
    Object.assign(this.input, getObject(call, 'args'))
    for (const part of getObjects(call, 'partialArgs')) this.#addPart(part)
  }

  /** Pieces of a text have the same path and are joined. */
  #addPart(part: Json): void {
    const path = getString(part, 'jsonPath') ?? ''
    const steps = parsePath(path)
    const last = steps.pop() ?? ''
    let parent: Container = this.input
    for (const [index, key] of steps.entries()) parent = childAt(parent, key, steps[index + 1] ?? last)
    const value = partValue(part)
    const earlier = getValue(parent, last)
    this.#chars += path.length + (typeof value === 'string' ? value.length : 0)
    if (this.#chars > maxArgumentChars) throw new Error('The arguments of the call are too large.')
    setValue(parent, last, typeof value === 'string' && typeof earlier === 'string' ? earlier + value : value)
  }
}

/** Reads the calls of one candidate. */
export class FunctionCallReader {
  #open: OpenCall | null = null
  /** The id of the latest call. */
  latestId: string | undefined

  /** Returns the calls that are complete with this part. */
  read(part: Json): readonly FunctionCall[] {
    const call = getObject(part, 'functionCall')
    if (!call) return []
    const name = getString(call, 'name')
    // The next call also ends the previous one.
    const ended = name === undefined ? [] : this.end()
    if (name !== undefined) {
      this.latestId = getString(call, 'id') ?? newId('call')
      this.#open = new OpenCall(this.latestId, name)
    }
    this.#open?.add(call)
    return call['willContinue'] === true ? ended : [...ended, ...this.end()]
  }

  /** Call when the candidate has ended; returns a call that was not ended by itself. */
  end(): readonly FunctionCall[] {
    const open = this.#open
    this.#open = null
    return open ? [open] : []
  }
}
