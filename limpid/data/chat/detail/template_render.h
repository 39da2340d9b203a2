// Rendering a chat template. Depends on template_tree.h.
#pragma once

#include <string>

#include "limpid/core/json.h"
#include "limpid/data/chat/detail/template_tree.h"

namespace limpid::detail {

// As ChatTemplate::render() has it, of a tree whose names are bound.
std::string render_template(const TemplateNode& root, const std::string& source,
                            const Json& variables);

}  // namespace limpid::detail
