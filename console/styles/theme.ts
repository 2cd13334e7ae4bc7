/** Mantine's theme. Its variables are in theme.css, because the strict CSP forbids inline styles. */
import { createTheme, type MantineColorsTuple } from '@mantine/core'

const accent: MantineColorsTuple = [
  '#e6f7fb',
  '#cdeaf2',
  '#9ad4e4',
  '#67bfd7',
  '#3faecb',
  '#2497b5',
  '#12809f',
  '#0e7490',
  '#0b5f77',
  '#084a5d',
]

export const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: 7,
  colors: { accent },
  defaultRadius: 'sm',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Button: { defaultProps: { size: 'xs' } },
    ActionIcon: { defaultProps: { size: 'sm', variant: 'subtle', color: 'gray' } },
    // A hint above the input would move it below its neighbours without one.
    InputWrapper: { defaultProps: { inputWrapperOrder: ['label', 'input', 'description', 'error'] } },
    Input: { classNames: { wrapper: 'input-box' } },
    TextInput: { defaultProps: { size: 'xs' } },
    NativeSelect: { defaultProps: { size: 'xs' } },
    MultiSelect: { defaultProps: { size: 'xs' }, classNames: { pill: 'pill' } },
    Textarea: { defaultProps: { size: 'xs', autosize: false } },
    Checkbox: { defaultProps: { size: 'xs' }, classNames: { input: 'checkbox-box' } },
    Modal: {
      defaultProps: {
        lockScroll: false,
        radius: 'md',
        padding: 'lg',
        transitionProps: { duration: 90 },
        overlayProps: { backgroundOpacity: 0.45 },
      },
    },
    // A <header> outside of sectioning content would be a second banner of the page.
    ModalHeader: { defaultProps: { role: 'presentation' } },
    Menu: { defaultProps: { shadow: 'md', transitionProps: { duration: 60 }, position: 'bottom-end' } },
  },
})
