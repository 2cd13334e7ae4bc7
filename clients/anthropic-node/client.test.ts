// @suite all – runs an official client
// @drives a client
/** Anthropic's official client for TypeScript, in two generations. */
import { anthropicScenarios } from '../anthropic-scenarios.ts'
import { nodeClient, testClient } from '../client-program.ts'

const generations = {
  1: nodeClient('anthropic-node', ['@anthropic-ai/sdk']),
  0: nodeClient('anthropic-node', ['@anthropic-ai/sdk', '@anthropic-ai/sdk-0']),
}

testClient(
  { title: 'Anthropic client for TypeScript', guide: 'anthropic-typescript', generations },
  anthropicScenarios,
)
