/** The whole console: theme, server state and router around the pages. */
import { MantineProvider, mergeThemeOverrides } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode, Suspense, useMemo } from 'react'
import { queryClient } from './api/session.ts'
import { useMessages } from './locales/messages.ts'
import type { createConsoleRouter } from './routes.tsx'
import { useColorScheme } from './styles/color-scheme.ts'
import { theme } from './styles/theme.ts'

/** The theme with the label of the button in password fields, which Mantine knows in English only. */
function useLocalizedTheme() {
  const label = useMessages('auth').passwordVisibility
  return useMemo(() => {
    const defaultProps = { size: 'xs', visibilityToggleButtonProps: { 'aria-label': label } }
    return mergeThemeOverrides(theme, { components: { PasswordInput: { defaultProps } } })
  }, [label])
}

export interface ConsoleProps {
  readonly router: ReturnType<typeof createConsoleRouter>
}

function Pages({ router }: ConsoleProps) {
  const scheme = useColorScheme()
  const localizedTheme = useLocalizedTheme()
  return (
    <MantineProvider
      theme={localizedTheme}
      forceColorScheme={scheme}
      withCssVariables={false}
      withGlobalClasses={false}
      withStaticClasses={false}
    >
      <QueryClientProvider client={queryClient}>
        <Suspense>
          <RouterProvider router={router} />
        </Suspense>
      </QueryClientProvider>
    </MantineProvider>
  )
}

export function Console({ router }: ConsoleProps) {
  return (
    <StrictMode>
      <Pages router={router} />
    </StrictMode>
  )
}
