/**
 * Validates requests as strictly as Google's "generateContent", of the Gemini API and of Vertex AI. Sources: the types
 * of `@google/genai` 2.32 and the protocol buffers of googleapis (`google/ai/generativelanguage/v1beta`), from which the
 * JSON parser knows the fields, and the texts of the API's errors: those quoted in comments appear in public issues, the
 * others are descriptive. A field of either API is accepted; names in snake case, which Google accepts too, are not.
 */

import { isObject } from '../../../src/providers/json-fields.ts'
import { rejectUnknownNames, toSnakeCase, validateContents, validateParts } from './strict-gemini-contents.ts'
import { findProblem, isGiven, type Json, objectIn, objectsIn, reject, stringIn } from './strict-rules.ts'

/** `GenerateContentRequest` without `model`, which is in the URL; `labels` is Vertex's. */
const fields = [
  'contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent labels',
].flatMap((line) => line.split(' '))

/** `Tool`. */
const toolFields = [
  'functionDeclarations googleSearch googleSearchRetrieval codeExecution urlContext computerUse googleMaps fileSearch',
  'mcpServers retrieval enterpriseWebSearch parallelAiSearch exaAiSearch',
].flatMap((line) => line.split(' '))

/** `FunctionDeclaration`. */
const declarationFields =
  'name description behavior parameters parametersJsonSchema response responseJsonSchema'.split(' ')

/** `Schema`: a subset of OpenAPI 3.0. */
const schemaFields = [
  'anyOf default description enum example format items maxItems maxLength maxProperties maximum minItems minLength',
  'minProperties minimum nullable pattern properties propertyOrdering required title type',
].flatMap((line) => line.split(' '))

/** `GenerationConfig`. */
const configFields = [
  'candidateCount stopSequences maxOutputTokens temperature topP topK seed presencePenalty frequencyPenalty',
  'responseMimeType responseSchema responseJsonSchema responseFormat responseModalities responseLogprobs logprobs',
  'thinkingConfig speechConfig mediaResolution audioTimestamp audioTranscriptionConfig translationConfig routingConfig',
  'modelSelectionConfig enableAffectiveDialog enableEnhancedCivicAnswers',
].flatMap((line) => line.split(' '))

/**
 * "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_),
 * dots (.), colons (:), or dashes (-), with a maximum length of 64."
 */
const functionName = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/
const modes = ['MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED']
/** `ThinkingLevel`; Google's examples write them in lower case. */
const thinkingLevels = ['THINKING_LEVEL_UNSPECIFIED', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH']
/** "Thinking": of Gemini 2.5 Pro, the largest of all; -1 lets the model decide. */
const maxThinkingBudget = 32_768
const maxInt32 = 2 ** 31 - 1

/** `Schema`, from which the parser reads `parameters` and `responseSchema`. */
function validateSchema(schema: Json, path: string): void {
  rejectUnknownNames(schema, schemaFields, path)
  if (Array.isArray(schema['type']))
    reject(
      `Invalid JSON payload received. Unknown name "type" at '${path}': Proto field is not repeating, cannot start list.`,
    )
  const properties = Object.values(objectIn(schema['properties']))
  if (isGiven(schema, 'properties') && properties.length === 0)
    reject(`* GenerateContentRequest.${path}.properties: should be non-empty for OBJECT type`)
  if (stringIn(schema['type']).toUpperCase() === 'ARRAY' && !isGiven(schema, 'items'))
    reject(`* GenerateContentRequest.${path}.items: missing field.`)
  for (const [index, each] of properties.entries())
    if (isObject(each)) validateSchema(each, `${path}.properties[${index}].value`)
  if (isObject(schema['items'])) validateSchema(schema['items'], `${path}.items`)
  for (const [index, each] of objectsIn(schema['anyOf']).entries())
    validateSchema(each, `${path}.any_of[${index}]`)
}

/** "This field is mutually exclusive with `parameters`." */
function validateDeclaration(declaration: Json, path: string): void {
  rejectUnknownNames(declaration, declarationFields, path)
  if (!functionName.test(stringIn(declaration['name'])))
    reject(
      `* GenerateContentRequest.${path}.name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.`,
    )
  if (isGiven(declaration, 'parameters') && isGiven(declaration, 'parametersJsonSchema'))
    reject(`${path}: parameters and parameters_json_schema are mutually exclusive.`)
  if (isObject(declaration['parameters'])) validateSchema(declaration['parameters'], `${path}.parameters`)
}

/** "Duplicate function declaration found", "Function calling config is set without function_declarations." */
function validateTools(body: Json): void {
  const names = new Set<unknown>()
  for (const [index, tool] of objectsIn(body['tools']).entries()) {
    rejectUnknownNames(tool, toolFields, `tools[${index}]`)
    for (const [place, declaration] of objectsIn(tool['functionDeclarations']).entries()) {
      validateDeclaration(declaration, `tools[${index}].function_declarations[${place}]`)
      const { name } = declaration
      if (names.has(name)) reject(`Duplicate function declaration found: ${String(name)}`)
      names.add(name)
    }
  }
  const config = objectIn(body['toolConfig'])
  rejectUnknownNames(
    config,
    ['functionCallingConfig', 'retrievalConfig', 'includeServerSideToolInvocations'],
    'tool_config',
  )
  if (!isObject(config['functionCallingConfig'])) return
  const path = 'tool_config.function_calling_config'
  const calling = config['functionCallingConfig']
  rejectUnknownNames(calling, ['mode', 'allowedFunctionNames', 'streamFunctionCallArguments'], path)
  if (names.size === 0) reject('Function calling config is set without function_declarations.')
  if (isGiven(calling, 'mode') && !modes.includes(stringIn(calling['mode'])))
    reject(
      `Invalid value at '${path}.mode' (type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode), "${String(calling['mode'])}"`,
    )
}

/** "You can only set only one of thinking budget and thinking level.", "The thinking budget (52428) is invalid." */
function validateThinking(thinking: Json): void {
  const path = 'generation_config.thinking_config'
  rejectUnknownNames(thinking, ['includeThoughts', 'thinkingBudget', 'thinkingLevel'], path)
  const { thinkingBudget: budget, thinkingLevel: level } = thinking
  if (isGiven(thinking, 'thinkingLevel') && !thinkingLevels.includes(stringIn(level).toUpperCase()))
    reject(
      `Invalid value at '${path}.thinking_level' (type.googleapis.com/google.ai.generativelanguage.v1beta.ThinkingConfig.ThinkingLevel), "${String(level)}"`,
    )
  if (isGiven(thinking, 'thinkingBudget') && isGiven(thinking, 'thinkingLevel'))
    reject('You can only set only one of thinking budget and thinking level.')
  if (typeof budget === 'number' && (budget < -1 || budget > maxThinkingBudget))
    reject(`The thinking budget (${budget}) is invalid.`)
}

function requireRange(field: string, value: unknown, [minimum, end]: readonly [number, number]): void {
  if (typeof value === 'number' && (value < minimum || value >= end))
    reject(
      `Unable to submit request because it has a ${field} value of ${value} but the supported range is from ${minimum} (inclusive) to ${end} (exclusive). Update the value and try again.`,
    )
}

/**
 * "… it has a stopSequences value of 10 but the supported range is from 1 (inclusive) to 6 (exclusive)."; likewise
 * `candidateCount` and `maxOutputTokens`. The ranges are those of "GenerationConfig" and of the protocol buffers: a
 * temperature of 0 to 2, probabilities of 0 to 1, up to 5 stop sequences, up to 8 candidates, 32-bit integers.
 */
function validateGenerationConfig(config: Json): void {
  const path = 'generation_config'
  rejectUnknownNames(config, configFields, path)
  for (const field of ['seed', 'maxOutputTokens', 'candidateCount']) {
    const value = config[field]
    if (typeof value === 'number' && (!Number.isInteger(value) || Math.abs(value) > maxInt32))
      reject(`Invalid value at '${path}.${toSnakeCase(field)}' (TYPE_INT32), ${value}`)
  }
  const stops = config['stopSequences']
  if (Array.isArray(stops)) requireRange('stopSequences', stops.length, [0, 6])
  requireRange('candidateCount', config['candidateCount'], [1, 9])
  requireRange('maxOutputTokens', config['maxOutputTokens'], [1, Infinity])
  for (const [field, maximum] of [
    ['temperature', 2],
    ['topP', 1],
  ] as const) {
    const value = config[field]
    if (typeof value === 'number' && (value < 0 || value > maximum))
      reject(
        `* GenerateContentRequest.${path}.${toSnakeCase(field)}: must be in the range [0.0, ${maximum}.0].`,
      )
  }
  if (isObject(config['responseSchema'])) validateSchema(config['responseSchema'], `${path}.response_schema`)
  validateThinking(objectIn(config['thinkingConfig']))
}

export interface GeminiProblem {
  readonly status: number
  readonly error: { error: { code: number; message: string; status: 'INVALID_ARGUMENT' } }
}

/** The error with which Google would reject the body of a request to `:generateContent` or `:streamGenerateContent`. */
export function findGeminiProblem(body: Json): GeminiProblem | undefined {
  const problem = findProblem(() => {
    rejectUnknownNames(body, fields, '')
    const system = objectIn(body['systemInstruction'])
    rejectUnknownNames(system, ['role', 'parts'], 'system_instruction')
    validateParts(objectsIn(system['parts']), 'system_instruction')
    validateContents(objectsIn(body['contents']))
    validateTools(body)
    validateGenerationConfig(objectIn(body['generationConfig']))
  })
  if (!problem) return undefined
  const { status, message } = problem
  return { status, error: { error: { code: status, message, status: 'INVALID_ARGUMENT' } } }
}
