// How the tool speaks: text and JSON on standard output, errors in one line on standard error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "limpid/core/json.h"
#include "limpid/core/tensor.h"

namespace limpid::tool {

// Writes to standard output. Names in a text may be anybody's, and a terminal would obey their
// control characters: it is shown them as \xNN, but for newlines and tabs. Whatever else reads gets
// the bytes. Throws kIo where standard output does not take the text, as on a full disk.
void print(std::string_view text);
// Prints a control sequence for the terminal as it is; print() would escape it. Throws kIo.
void print_control(std::string_view sequence);
// Whether standard output is a terminal.
bool is_terminal();
// A document on lines of its own.
void print_json(const Json& document);
// Hands on what is still buffered; throws as print() does.
void flush();

// "limpid: " and the first line of the message, control characters as \xNN.
void print_error(std::string_view message);
// "limpid: note: " and one line, likewise: what a person should know of a run that goes well.
void print_note(std::string_view message);

// "1 example", "2 examples".
std::string counted(std::int64_t count, std::string_view noun);

// Numbers that read back as the same bits; null for what JSON has no number for.
Json json_of(float number);
Json json_of(double number);
Json json_of(const Shape& shape);
// The values of an f32 tensor in one list.
Json json_of(const Tensor& tensor);

}  // namespace limpid::tool
