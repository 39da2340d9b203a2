import { useLayoutEffect, useRef } from 'preact/hooks';

/** For a field that is read once it has changed: its text is `value` until somebody types, and an answer that comes meanwhile leaves it. */
export function useTyped<E extends HTMLInputElement | HTMLTextAreaElement>(value: string) {
  const field = useRef<E>(null);
  useLayoutEffect(() => {
    field.current!.value = value;
  }, [value]);
  return field;
}
