/** What the validators of strict upstreams share: a violated rule ends the validation with the provider's error. */

import { isObject } from '../../../src/providers/json-fields.ts'

export type Json = Record<string, unknown>

/** A provider's rejection of a request. */
export interface Problem {
  readonly status: number
  readonly message: string
  /** OpenAI only. */
  readonly param: string | null
  readonly code: string | null
}

class RuleViolation extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.message)
    this.problem = problem
  }
}

/** Ends the validation with status 400. */
export function reject(message: string, param: string | null = null, code: string | null = null): never {
  throw new RuleViolation({ status: 400, message, param, code })
}

/** The first problem that `validate` rejects with. */
export function findProblem(validate: () => void): Problem | undefined {
  try {
    validate()
    return undefined
  } catch (error) {
    if (error instanceof RuleViolation) return error.problem
    throw error
  }
}

/** Whether the field is there and not null. */
export function isGiven(object: Json, field: string): boolean {
  return object[field] !== undefined && object[field] !== null
}

/** The objects in a list; empty if it is none. */
export function objectsIn(list: unknown): Json[] {
  return Array.isArray(list) ? list.filter(isObject) : []
}

/** The object, empty if it is none. */
export function objectIn(value: unknown): Json {
  return isObject(value) ? value : {}
}

/** The string, empty if it is none. */
export function stringIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
