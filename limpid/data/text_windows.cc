#include "limpid/data/text_windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/data/text.h"
#include "limpid/formats/in_quotes.h"

namespace limpid {

Dataset windows_of(const Tensor& tokens, std::int64_t context) {
  const std::span<const std::int32_t> all = tokens.values<std::int32_t>();
  const auto size = static_cast<std::int64_t>(all.size());
  if (context < 1)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("windows: a context of {}, 1 or more is expected", context));
  if (size <= context)
    throw Error(ErrorCode::kShape, fmt::format("windows: {} tokens, more than the context of {} "
                                               "are expected",
                                               size, context));
  const std::int64_t count = size - context;
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(std::int32_t));
  if (count > kMaxWindowBytes / kBytes / context)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("windows: {} of {} tokens, at most {} bytes are expected", count,
                            context, kMaxWindowBytes));
  Dataset data;
  data.task = Task::kNextToken;
  data.inputs = Tensor::generate<std::int32_t>({count, context}, [&](std::span<std::int32_t> out) {
    const auto width = static_cast<std::size_t>(context);
    for (std::size_t i = 0; i * width < out.size(); ++i)
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(i), width,
                  out.begin() + static_cast<std::ptrdiff_t>(i * width));
  });
  data.targets = tokens.rows(context, count);
  return data;
}

Split load_text_windows(const std::filesystem::path& path, std::int64_t context) {
  const std::string text = load_text(path);
  const Vocabulary vocabulary(text);
  const TextParts parts = split_text(text);
  const auto part = [&](std::string_view characters) {
    Dataset data = windows_of(vocabulary.encode(characters), context);
    data.classes = vocabulary.size();
    data.class_names = vocabulary.characters();
    data.name = path.filename().string();
    return data;
  };
  try {
    Split split;
    split.train = part(parts.train);
    split.test = part(parts.test);
    return split;
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("text {}: {}", in_quotes(path.string()), e.what()));
  }
}

}  // namespace limpid
