// @suite all – runs an official client
// @drives a client
/** Anthropic's official client for Python, in two generations. */
import { anthropicScenarios } from '../anthropic-scenarios.ts'
import { pythonClient, testClient } from '../client-program.ts'

const generations = { 2: pythonClient('anthropic-python', 2), 0: pythonClient('anthropic-python', 0) }

testClient(
  { title: 'Anthropic client for Python', guide: 'anthropic-python', generations },
  anthropicScenarios,
)
