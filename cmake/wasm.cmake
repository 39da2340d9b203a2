# Builds the engine for WebAssembly: a module that Node and browsers run. `./dev wasm` installs what packages-wasm.txt names and
# unpacks the libraries of exceptions below build/wasm-packages (docs/decisions/0050-the-engine-in-a-page.md).
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_C_COMPILER clang-22)
set(CMAKE_CXX_COMPILER clang++-22)
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
# A program of the compiler's checks is no module of ours, and nothing runs it.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
