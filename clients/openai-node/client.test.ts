// @suite all – runs an official client
/** OpenAI's official client for Node, in two generations. */
import { nodeClient, testClient } from '../client-program.ts'
import { openaiScenarios } from '../openai-scenarios.ts'

const generations = {
  7: nodeClient('openai-node', 7, 'openai'),
  6: nodeClient('openai-node', 6, 'openai-6'),
}

testClient('OpenAI client for Node', generations, openaiScenarios)
