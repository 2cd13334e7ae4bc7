/** Validates the conversation of a request to Gemini; strict-gemini.ts names the sources. */

import { isObject } from '../../../src/providers/json-fields.ts'
import { isGiven, type Json, objectsIn, reject, stringIn } from './strict-rules.ts'

/** The oneof `data` of `Part`. */
const dataFields = [
  'text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse',
].flatMap((line) => line.split(' '))

const partFields = [
  ...dataFields,
  ...'thought thoughtSignature videoMetadata mediaResolution mediaProcessing partMetadata'.split(' '),
  ...'audioTranscription speechMetadata'.split(' '),
]

/** `Blob`, `FileData`, `FunctionCall`, `FunctionResponse`. */
const fieldsOfData: Readonly<Record<string, readonly string[]>> = {
  inlineData: ['mimeType', 'data', 'displayName'],
  fileData: ['mimeType', 'fileUri', 'displayName'],
  functionCall: ['id', 'name', 'args', 'partialArgs', 'willContinue'],
  functionResponse: ['id', 'name', 'response', 'parts', 'scheduling', 'willContinue'],
}

/** Google's errors name fields as in the protocol buffers. */
export function toSnakeCase(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** "Invalid JSON payload received. Unknown name "role" at 'contents[0].parts': Cannot find field." */
export function rejectUnknownNames(object: Json, known: readonly string[], path: string): void {
  const unknown = Object.keys(object).find((field) => !known.includes(field))
  if (unknown === undefined) return
  const where = path === '' ? '' : ` at '${path}'`
  reject(`Invalid JSON payload received. Unknown name "${unknown}"${where}: Cannot find field.`)
}

/** `FunctionCall.args`, `FunctionResponse.response`. */
function requireStruct(value: unknown, path: string): void {
  if (value !== undefined && !isObject(value))
    reject(
      `Invalid value at '${path}' (type.googleapis.com/google.protobuf.Struct), ${JSON.stringify(value)}`,
    )
}

/** "… it has an empty mimeType parameter in fileData.", "…function_response.name: Name cannot be empty." */
function validateData(data: Json, kind: string, path: string): void {
  rejectUnknownNames(data, fieldsOfData[kind] ?? Object.keys(data), path)
  if ((kind === 'inlineData' || kind === 'fileData') && stringIn(data['mimeType']) === '')
    reject(
      `Unable to submit request because it has an empty mimeType parameter in ${kind}. Add a value to the parameter and try again.`,
    )
  if (kind !== 'functionCall' && kind !== 'functionResponse') return
  if (stringIn(data['name']) === '') reject(`* GenerateContentRequest.${path}.name: Name cannot be empty.`)
  const field = kind === 'functionCall' ? 'args' : 'response'
  requireStruct(data[field], `${path}.${field}`)
}

/**
 * "…parts[0].data: required oneof field 'data' must have one initialized field", "… it has an empty text parameter."; an
 * empty text may carry a signature ("Thought signatures").
 */
export function validateParts(parts: readonly Json[], parent: string): void {
  for (const [index, part] of parts.entries()) {
    const path = `${parent}.parts[${index}]`
    rejectUnknownNames(part, partFields, path)
    const [kind, other] = dataFields.filter((field) => isGiven(part, field))
    if (kind === undefined)
      reject(
        `* GenerateContentRequest.${path}.data: required oneof field 'data' must have one initialized field`,
      )
    if (other !== undefined)
      reject(`Invalid value at '${path}' (oneof), oneof field 'data' is already set. Cannot set '${other}'`)
    if (part['text'] === '' && !isGiven(part, 'thoughtSignature'))
      reject(
        'Unable to submit request because it has an empty text parameter. Add a value to the parameter and try again.',
      )
    const data = part[kind]
    if (isObject(data)) validateData(data, kind, `${path}.${toSnakeCase(kind)}`)
  }
}

function countParts(content: Json | undefined, kind: 'functionCall' | 'functionResponse'): number {
  return objectsIn(content?.['parts']).filter((part) => isGiven(part, kind)).length
}

/** The order of calls and responses; the texts are those of the API's errors. */
function validateCalls(contents: readonly Json[]): void {
  for (const [index, content] of contents.entries()) {
    const calls = countParts(content, 'functionCall')
    const before = contents[index - 1]
    if (countParts(content, 'functionResponse') > 0 && countParts(before, 'functionCall') === 0)
      reject('Please ensure that function response turn comes immediately after a function call turn.')
    if (calls === 0) continue
    if (before?.['role'] !== 'user')
      reject(
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      )
    if (calls !== countParts(contents[index + 1], 'functionResponse'))
      reject(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      )
  }
}

/** "…contents: contents is not specified", "…contents.parts must not be empty.", "Please use a valid role: user, model." */
export function validateContents(contents: readonly Json[]): void {
  if (contents.length === 0) reject('* GenerateContentRequest.contents: contents is not specified')
  for (const [index, content] of contents.entries()) {
    const path = `contents[${index}]`
    rejectUnknownNames(content, ['role', 'parts'], path)
    if (content['role'] !== 'user' && content['role'] !== 'model')
      reject('Please use a valid role: user, model.')
    const parts = objectsIn(content['parts'])
    if (parts.length === 0)
      reject(`* GenerateContentRequest.${path}.parts: contents.parts must not be empty.`)
    validateParts(parts, path)
  }
  validateCalls(contents)
}
