/** The tool of mcp-server.ts, and what the test expects of it. */
export const serverName = 'warehouse'
export const toolName = 'count_the_items_of_one_kind_that_are_in_stock_in_all_of_our_warehouses'
/** Claude Code's name for it: 86 characters, where OpenAI's format allows 64. */
export const longName = `mcp__${serverName}__${toolName}`
export const toolResult = '4711 in stock'
