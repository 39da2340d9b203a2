// Rejects sources that are compiled with -ffast-math, or with a part of it that the compiler
// defines a macro for. The linker keeps one copy of an inline function for the whole program, so
// such a source could change the arithmetic of the library, too.
#pragma once

#if defined(__FAST_MATH__) || __FINITE_MATH_ONLY__ || defined(__ASSOCIATIVE_MATH__) || \
    defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error "-ffast-math and its parts change results; compile what includes limpid without them"
#endif
