/**
 * Validates requests as strictly as Amazon's "Converse". Sources: the service's model (botocore,
 * bedrock-runtime/2023-09-30, and @aws-sdk/client-bedrock-runtime 3.1164 for later fields), and the texts of the API's
 * errors, which are quoted here as they appear in public issues.
 */

import { isObject } from '../../../src/providers/json-fields.ts'
import { findProblem, isGiven, type Json, objectIn, objectsIn, reject, stringIn } from './strict-rules.ts'

/** `ConverseRequest` without `modelId`, which is in the URL. */
const fields = [
  'messages system inferenceConfig toolConfig guardrailConfig additionalModelRequestFields promptVariables',
  'additionalModelResponseFieldPaths requestMetadata performanceConfig serviceTier outputConfig',
].flatMap((line) => line.split(' '))

/** `ContentBlock`: exactly one of its members. */
const blockKinds = [
  'text image document video audio toolUse toolResult guardContent cachePoint reasoningContent',
  'citationsContent searchResult',
].flatMap((line) => line.split(' '))

/** `ToolUseId`, `ToolName`. */
const identifier = /^[a-zA-Z0-9_-]{1,64}$/

function rejectUnknown(object: Json, known: readonly string[], path: string): void {
  const unknown = Object.keys(object).find((field) => !known.includes(field))
  if (unknown !== undefined) reject(`${path}: unknown field ${unknown}`)
}

function requireIdentifier(value: unknown, path: string): void {
  if (identifier.test(stringIn(value))) return
  reject(
    `Value at '${path}' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+`,
  )
}

/** `ImageFormat`, `ToolUseBlock`, `ToolResultBlock`; "The text field in the ContentBlock object at … is blank." */
function validateBlock(block: Json, path: string): void {
  const kinds = Object.keys(block)
  if (kinds.length !== 1 || !blockKinds.includes(kinds[0] ?? '')) reject(`${path}: must be one of the blocks`)
  if (isGiven(block, 'text') && stringIn(block['text']).trim() === '')
    reject(
      `The text field in the ContentBlock object at ${path} is blank. Add text to the text field, and try again.`,
    )
  if (
    isObject(block['image']) &&
    !['png', 'jpeg', 'gif', 'webp'].includes(stringIn(block['image']['format']))
  )
    reject(
      `Value at '${path}.image.format' failed to satisfy constraint: Member must satisfy enum value set: [png, jpeg, gif, webp]`,
    )
  const { toolUse, toolResult } = block
  if (isObject(toolUse)) {
    requireIdentifier(toolUse['toolUseId'], `${path}.toolUse.toolUseId`)
    requireIdentifier(toolUse['name'], `${path}.toolUse.name`)
    if (!isObject(toolUse['input']))
      reject(
        `The format of the value at ${path}.toolUse.input is invalid. Provide a json object for the field and try again.`,
      )
  }
  if (isObject(toolResult)) {
    requireIdentifier(toolResult['toolUseId'], `${path}.toolResult.toolUseId`)
    if (!Array.isArray(toolResult['content'])) reject(`Value null at '${path}.toolResult.content'`)
  }
}

function idsOf(message: Json | undefined, kind: 'toolUse' | 'toolResult'): unknown[] {
  return objectsIn(message?.['content']).flatMap((block) =>
    isObject(block[kind]) ? [block[kind]['toolUseId']] : [],
  )
}

/** "Expected toolResult blocks at messages.2.content for the following Ids: …", "… contain duplicate Ids: …" */
function validateCalls(messages: readonly Json[]): void {
  for (const [index, message] of messages.entries()) {
    const called = idsOf(messages[index - 1], 'toolUse')
    const answered = idsOf(message, 'toolResult')
    const missing = called.filter((id) => !answered.includes(id))
    if (missing.length > 0)
      reject(
        `Expected toolResult blocks at messages.${index}.content for the following Ids: ${missing.join(', ')}`,
      )
    if (answered.length > called.length)
      reject(
        `The number of toolResult blocks at messages.${index}.content exceeds the number of toolUse blocks of previous turn.`,
      )
  }
  const last = messages.length - 1
  const open = idsOf(messages[last], 'toolUse')
  if (open.length > 0)
    reject(
      `Expected toolResult blocks at messages.${last + 1}.content for the following Ids: ${open.join(', ')}`,
    )
  for (const [index, message] of messages.entries()) {
    const ids = idsOf(message, 'toolUse')
    if (new Set(ids).size < ids.length)
      reject(`The toolUse blocks at messages.${index}.content contain duplicate Ids: ${ids.join(', ')}`)
  }
}

/** "A conversation must alternate between user and assistant roles.", "A conversation must start with a user message." */
function validateMessages(messages: readonly Json[]): void {
  if (messages[0]?.['role'] !== 'user')
    reject(
      'A conversation must start with a user message. Try again with a conversation that starts with a user message.',
    )
  for (const [index, { role, content }] of messages.entries()) {
    if (role !== (index % 2 === 0 ? 'user' : 'assistant'))
      reject(
        'A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.',
      )
    const blocks = objectsIn(content)
    if (blocks.length === 0)
      reject(
        `The content field in the Message object at messages.${index} is empty. Add a ContentBlock object to the content field and try again.`,
      )
    for (const [place, block] of blocks.entries()) validateBlock(block, `messages.${index}.content.${place}`)
  }
  validateCalls(messages)
}

/** `ToolConfiguration`, `ToolSpecification`; "The toolConfig field must be defined when using toolUse and toolResult content blocks." */
function validateTools(body: Json, messages: readonly Json[]): void {
  if (!isGiven(body, 'toolConfig')) {
    if (messages.some((message) => idsOf(message, 'toolUse').length > 0))
      reject('The toolConfig field must be defined when using toolUse and toolResult content blocks.')
    return
  }
  const config = objectIn(body['toolConfig'])
  rejectUnknown(config, ['tools', 'toolChoice'], 'toolConfig')
  const tools = objectsIn(config['tools'])
  if (tools.length === 0)
    reject(
      "Value '[]' at 'toolConfig.tools' failed to satisfy constraint: Member must have length greater than or equal to 1",
    )
  for (const [index, { toolSpec }] of tools.entries()) {
    if (!isObject(toolSpec)) continue
    const path = `toolConfig.tools.${index}.toolSpec`
    rejectUnknown(toolSpec, ['name', 'description', 'inputSchema', 'strict'], path)
    requireIdentifier(toolSpec['name'], `${path}.name`)
    // "The value at … must be one of the following: object."
    if (objectIn(objectIn(toolSpec['inputSchema'])['json'])['type'] !== 'object')
      reject(`The value at ${path}.inputSchema.json.type must be one of the following: object.`)
    if (toolSpec['description'] === '')
      reject(`Value '' at '${path}.description' failed to satisfy constraint`)
  }
}

/** `InferenceConfiguration`. */
function validateInference(body: Json): void {
  const config = objectIn(body['inferenceConfig'])
  rejectUnknown(config, ['maxTokens', 'temperature', 'topP', 'stopSequences'], 'inferenceConfig')
  for (const field of ['temperature', 'topP']) {
    const value = config[field]
    if (typeof value === 'number' && (value < 0 || value > 1))
      reject(
        `Value '${value}' at 'inferenceConfig.${field}' failed to satisfy constraint: Member must have value less than or equal to 1`,
      )
  }
  if (isGiven(config, 'maxTokens') && Number(config['maxTokens']) < 1)
    reject(
      "Value at 'inferenceConfig.maxTokens' failed to satisfy constraint: Member must have value greater than or equal to 1",
    )
  if (Array.isArray(config['stopSequences']) && config['stopSequences'].includes(''))
    reject("Value '[]' at 'inferenceConfig.stopSequences' failed to satisfy constraint")
}

export interface BedrockProblem {
  readonly status: number
  readonly error: { message: string }
}

/** The error with which Amazon would reject the body of a request to `/model/{model}/converse`. */
export function findBedrockConverseProblem(body: Json): BedrockProblem | undefined {
  const problem = findProblem(() => {
    rejectUnknown(body, fields, 'request')
    const messages = objectsIn(body['messages'])
    validateMessages(messages)
    for (const block of objectsIn(body['system'])) {
      if (isGiven(block, 'text') && stringIn(block['text']) === '')
        reject("Value '' at 'system.text' failed to satisfy constraint")
    }
    validateTools(body, messages)
    validateInference(body)
  })
  return problem && { status: problem.status, error: { message: problem.message } }
}
