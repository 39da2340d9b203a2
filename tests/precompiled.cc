// Owns the precompiled header that the test programs share: tests/CMakeLists.txt.
