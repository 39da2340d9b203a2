// Edits to take away: as code, as a command, as a model under a name. Leans on subject.h.
#pragma once

#include <optional>
#include <string>

#include "limpid/view/subject.h"

namespace limpid::view {

struct EditText {
  std::string cpp = {};
  // Of the tool; nothing where an example is patched in.
  std::optional<std::string> command = {};
  std::string function = {};  // the edited Function as text, large constants left out
};

// How to have the same edits elsewhere. Throws what ready() and edit() throw.
EditText edit_text(Session& session, const Subject& subject);
Json to_json(const EditText& text);

// The edited model under a name of its own. Patches need an input, whose length they are for.
// Throws what edit() throws.
std::shared_ptr<const OpenModel> keep(Session& session, const Subject& subject,
                                      const std::string& name);

}  // namespace limpid::view
