// Output of the tool: text and JSON on standard output, errors in one line on standard error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "limpid/core/json.h"
#include "limpid/core/tensor.h"

namespace limpid::tool {

// Writes to standard output. Names in a text are untrusted: on a terminal, control characters
// except newlines and tabs are shown as \xNN. A pipe or file gets the bytes unchanged. Throws kIo
// if the text cannot be written, as on a full disk.
void print(std::string_view text);
// Prints a terminal control sequence without escaping it. Throws kIo.
void print_control(std::string_view sequence);
// Whether standard output is a terminal.
bool is_terminal();
// Prints a JSON document on its own lines.
void print_json(const Json& document);
// Flushes the buffer. Throws as print().
void flush();

// Prints "limpid: " and the message as one line, with control characters as \xNN.
void print_error(std::string_view message);
// Prints "limpid: note: " and one line likewise: information about a successful run.
void print_note(std::string_view message);

// Numbers that read back as the same bits; null for non-finite numbers.
Json json_of(float number);
Json json_of(double number);
Json json_of(const Shape& shape);
// The elements of an f32 tensor in one list.
Json json_of(const Tensor& tensor);

}  // namespace limpid::tool
