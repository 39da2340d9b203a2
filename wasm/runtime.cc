// What the C++ library leaves to the program: the tag of exceptions, a pointer to the exception,
// which clang 22 expects it to define; and the end of the only thread, which never comes.
asm(".globl __cpp_exception\n"
    ".tagtype __cpp_exception i32\n"
    "__cpp_exception:\n");

extern "C" int __cxa_thread_atexit(void (*)(void*), void*, void*);
extern "C" int __cxa_thread_atexit(void (*)(void*), void*, void*) { return 0; }
