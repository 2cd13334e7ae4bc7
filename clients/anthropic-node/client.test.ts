// @suite all – runs an official client
/** Anthropic's official client for TypeScript, in two generations. */
import { anthropicScenarios } from '../anthropic-scenarios.ts'
import { nodeClient, testClient } from '../client-program.ts'

const generations = {
  1: nodeClient('anthropic-node', 1, '@anthropic-ai/sdk'),
  0: nodeClient('anthropic-node', 0, '@anthropic-ai/sdk-0'),
}

testClient('Anthropic client for Node', generations, anthropicScenarios)
