// @suite all – runs an official client
// @drives a client
/** OpenAI's official client for Python, in two generations. */
import { pythonClient, testClient } from '../client-program.ts'
import { openaiScenarios } from '../openai-scenarios.ts'

const generations = { 3: pythonClient('openai-python', 3), 2: pythonClient('openai-python', 2) }

testClient({ title: 'OpenAI client for Python', guide: 'openai-python', generations }, openaiScenarios)
