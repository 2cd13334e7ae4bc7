// @suite all – runs an official client
// @drives a client
/** OpenAI's official client for Node, in two generations. */
import { nodeClient, testClient } from '../client-program.ts'
import { openaiScenarios } from '../openai-scenarios.ts'

const generations = {
  7: nodeClient('openai-node', ['openai']),
  6: nodeClient('openai-node', ['openai', 'openai-6']),
}

testClient({ title: 'OpenAI client for Node', guide: 'openai-node', generations }, openaiScenarios)
