#include "limpid/data/chat/chat_template.h"

#include <fmt/format.h>

#include <utility>

#include "limpid/core/error.h"
#include "limpid/data/chat/detail/template_render.h"
#include "limpid/data/chat/detail/template_tokens.h"
#include "limpid/data/chat/detail/template_tree.h"

namespace limpid {
namespace {

constexpr std::size_t kMostSource = std::size_t{1} << 16;

}  // namespace

struct ChatTemplate::Parts {
  std::string source;
  std::unique_ptr<const detail::TemplateNode> root;
};

ChatTemplate::ChatTemplate(std::string_view source) {
  if (source.size() > kMostSource)
    throw Error(ErrorCode::kUnsupported, fmt::format("chat template: expected at most {} bytes, "
                                                     "got {}",
                                                     kMostSource, source.size()));
  Parts parts{.source = detail::with_plain_lines(source), .root = nullptr};
  std::unique_ptr<detail::TemplateNode> root = detail::parse_template(parts.source);
  detail::bind_names(*root);
  parts.root = std::move(root);
  parts_ = std::make_unique<const Parts>(std::move(parts));
}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

std::string ChatTemplate::render(const Json& variables) const {
  return detail::render_template(*parts_->root, parts_->source, variables);
}

}  // namespace limpid
