import { useLayoutEffect, useRef } from 'preact/hooks';

/** The ref of a field with onChange. `value` is written into the field only when `value` changes: a redraw would overwrite what is being typed. */
export function useTyped<E extends HTMLInputElement | HTMLTextAreaElement>(value: string) {
  const field = useRef<E>(null);
  useLayoutEffect(() => {
    field.current!.value = value;
  }, [value]);
  return field;
}
