// Elements of tensors in files beside the model. A model may only name files in its own folder:
// plain names, no links, and no bytes beyond the end of the file.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/system_error.h"
#include "limpid/formats/onnx/wire/detail/contents.h"

namespace limpid::onnx::detail {
namespace {

// The memory that external elements may take in addition to the model's own bytes.
constexpr std::uint64_t kSlack = std::uint64_t{32} << 20;

std::string message_of(const std::string& location, std::string_view reason) {
  return fmt::format("external data {}: {}", in_quotes(location), reason);
}

[[noreturn]] void fail(ErrorCode code, const std::string& location, std::string_view reason) {
  throw Error(code, message_of(location, reason));
}

[[noreturn]] void fail_with_errno(const std::string& location) {
  const int reason = errno;
  throw SystemError(reason, message_of(location, std::generic_category().message(reason)));
}

void check_name(const std::string& location) {
  if (location.empty() || location == "." || location == ".." ||
      location.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos)
    fail(ErrorCode::kFormat, location, "is not the name of a file in the model's folder");
}

class File {
 public:
  File(const std::filesystem::path& folder, const std::string& location)
      : location_(location),
        // Non-blocking: opening a pipe without a writer would wait for ever.
        fd_(::open((folder / location).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)) {
    if (fd_ < 0 && errno == ELOOP) fail(ErrorCode::kIo, location_, "is a link");
    if (fd_ < 0) fail_with_errno(location_);
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::uint64_t size() const {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) fail_with_errno(location_);
    if (!S_ISREG(status.st_mode)) fail(ErrorCode::kIo, location_, "is not a regular file");
    return static_cast<std::uint64_t>(status.st_size);
  }

  void read(std::uint64_t offset, std::span<std::byte> out) const {
    while (!out.empty()) {
      const ssize_t n = ::pread(fd_, out.data(), std::min(out.size(), std::size_t{1} << 30),
                                static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_with_errno(location_);
      if (n == 0) fail(ErrorCode::kIo, location_, "ended early");
      out = out.subspan(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
  }

 private:
  const std::string& location_;
  int fd_;
};

}  // namespace

Budget::Budget(std::uint64_t file_bytes) : left_(file_bytes + kSlack) {}

void Budget::charge(std::uint64_t bytes) {
  if (bytes > left_)
    throw Error(ErrorCode::kUnsupported,
                "its contents need far more memory than the file has bytes");
  left_ -= bytes;
}

Tensor ExternalData::read(const Type& type, const std::string& location, std::uint64_t offset,
                          std::optional<std::uint64_t> length) {
  if (!folder_) fail(ErrorCode::kUnsupported, location, "the model was not loaded from a file");
  check_name(location);
  const File file(*folder_, location);
  const std::uint64_t size = file.size();
  if (offset > size || length.value_or(0) > size - offset || type.bytes() > size - offset)
    fail(ErrorCode::kFormat, location,
         fmt::format("{} bytes at offset {} are outside of its {} bytes",
                     std::max<std::uint64_t>(length.value_or(0), type.bytes()), offset, size));
  if (length && *length != type.bytes())
    fail(ErrorCode::kFormat, location,
         fmt::format("{1} has {0} bytes, expected {2}", *length, to_string(type), type.bytes()));
  if (sizes_.emplace(location, size).second) budget_.grow(size);
  budget_.charge(type.bytes());
  return Tensor::generate_bytes(type, [&](std::span<std::byte> out) { file.read(offset, out); });
}

}  // namespace limpid::onnx::detail
