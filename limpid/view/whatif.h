// Exports edits: as code, as a command, or as a named model. Depends on subject.h.
#pragma once

#include <optional>
#include <string>

#include "limpid/view/subject.h"

namespace limpid::view {

struct EditText {
  std::string cpp = {};
  // A command of the tool; nullopt if it has none: for a patch from an example, a model that is no
  // file, tokens of a training set.
  std::optional<std::string> command = {};
  std::string function = {};  // the edited Function as text, without large constants
};

// The same edits as code and command. Throws what ready() and edit() throw.
EditText edit_text(Session& session, const Subject& subject);
Json to_json(const EditText& text);

// Adds the edited model with this name. Patches need an input of the same length. Throws what
// edit() throws.
std::shared_ptr<const OpenModel> keep(Session& session, const Subject& subject,
                                      const std::string& name);

}  // namespace limpid::view
