// Strips of links that are scrolled sideways where the window is narrow.
import { useEffect, useRef } from 'preact/hooks';

/** For a strip of links: brings the current one into sight whenever `links` changes, which tells one state of them from others. */
export function useInSight(links: string) {
  const strip = useRef<HTMLElement>(null);
  useEffect(() => {
    strip.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [links]);
  return strip;
}
