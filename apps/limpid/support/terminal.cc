#include "apps/limpid/support/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "apps/limpid/support/output.h"

namespace limpid::tool {

bool can_redraw() {
  const char* const name = std::getenv("TERM");
  const std::string_view type = name ? name : "";
  return is_terminal() && !type.empty() && type != "dumb";
}

std::size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace limpid::tool
