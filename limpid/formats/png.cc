// PNG, by libpng's row API.
#include "limpid/formats/detail/picture_codec.h"

#ifdef LIMPID_PNG
#include <png.h>

#include <algorithm>
#include <bit>
#include <csetjmp>
#include <cstring>
#include <new>
#endif

namespace limpid::detail {

#ifdef LIMPID_PNG
namespace {

// libpng reports an error by a jump out of its functions. So what is between the jump and the place
// that it goes to, the functions `step` below, has no objects that would have to be destroyed.
class PngFile {
 public:
  PngFile(std::span<const std::byte> bytes, const Reporter& report)
      : rest_(bytes), report_(report) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    if (!info_) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(png_, this, read_bytes);
  }
  ~PngFile() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngFile(const PngFile&) = delete;
  PngFile& operator=(const PngFile&) = delete;

  void read_header() {
    attempt([](PngFile& file) {
      constexpr png_uint_32 kSide = 0x7fffffff;  // the caller has its own limits, and says so
      constexpr png_alloc_size_t kChunk = png_alloc_size_t{1} << 20;
      png_set_user_limits(file.png_, kSide, kSide);
      png_set_chunk_malloc_max(file.png_, kChunk);
      png_set_crc_action(file.png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
      // Texts, profiles and the like are not even unpacked.
      png_set_keep_unknown_chunks(file.png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
      png_set_keep_unknown_chunks(file.png_, PNG_HANDLE_CHUNK_AS_DEFAULT,
                                  reinterpret_cast<png_const_bytep>("eXIf"), 1);
      png_read_info(file.png_, file.info_);
    });
  }

  std::int64_t height() const { return png_get_image_height(png_, info_); }
  std::int64_t width() const { return png_get_image_width(png_, info_); }

  bool has_colour() const {
    const int type = png_get_color_type(png_, info_);
    if (type != PNG_COLOR_TYPE_PALETTE) return (type & PNG_COLOR_MASK_COLOR) != 0;
    png_colorp palette = nullptr;
    int count = 0;
    png_get_PLTE(png_, info_, &palette, &count);
    return std::any_of(palette, palette + count, [](const png_color& entry) {
      return entry.red != entry.green || entry.green != entry.blue;
    });
  }

  int orientation() const {
    png_bytep exif = nullptr;
    png_uint_32 size = 0;
    if (png_get_eXIf_1(png_, info_, &size, &exif) == 0) return 1;
    return exif_orientation(std::as_bytes(std::span(exif, size)));
  }

  void read_samples(StoredPicture& picture) {
    attempt([](PngFile& file) {
      png_set_expand(file.png_);
      if constexpr (std::endian::native == std::endian::little) png_set_swap(file.png_);
      file.passes_ = png_set_interlace_handling(file.png_);
      png_read_update_info(file.png_, file.info_);
    });
    picture.channels = png_get_channels(png_, info_);
    picture.wide = png_get_bit_depth(png_, info_) == 16;
    const std::size_t row = static_cast<std::size_t>(picture.width * picture.channels) *
                            (picture.wide ? sizeof(std::uint16_t) : sizeof(std::uint8_t));
    if (png_get_rowbytes(png_, info_) != row)
      report_.broken("expected rows of {} bytes, got {}", row, png_get_rowbytes(png_, info_));
    picture.samples.resize(row * static_cast<std::size_t>(picture.height));
    out_ = reinterpret_cast<png_bytep>(picture.samples.data());
    row_ = row;
    attempt([](PngFile& file) {
      const png_uint_32 height = png_get_image_height(file.png_, file.info_);
      for (int pass = 0; pass < file.passes_; ++pass)
        for (png_uint_32 y = 0; y < height; ++y)
          png_read_row(file.png_, file.out_ + y * file.row_, nullptr);
      png_read_end(file.png_, nullptr);
    });
  }

 private:
  using Step = void (*)(PngFile& file);

  void attempt(Step step) {
    if (!runs(step)) report_.broken("{}", message_);
  }
  bool runs(Step step) {
    if (setjmp(jump_) != 0) return false;
    step(*this);
    return true;
  }

  static void on_error(png_structp png, png_const_charp message) {
    auto& file = *static_cast<PngFile*>(png_get_error_ptr(png));
    std::size_t i = 0;
    for (; i + 1 < sizeof file.message_ && message[i] >= ' ' && message[i] <= '~'; ++i)
      file.message_[i] = message[i];
    file.message_[i] = 0;
    std::longjmp(file.jump_, 1);
  }
  // Most are about what is ignored here. But without its transparency it is another picture; and
  // for an eXIf of any size libpng would have memory before it has read it.
  static void on_warning(png_structp png, png_const_charp message) {
    if (std::strncmp(message, "tRNS", 4) == 0 || std::strncmp(message, "eXIf: chunk data", 16) == 0)
      on_error(png, message);
  }
  static void read_bytes(png_structp png, png_bytep out, png_size_t count) {
    auto& file = *static_cast<PngFile*>(png_get_io_ptr(png));
    if (file.rest_.size() < count) png_error(png, "the file ends early");
    std::memcpy(out, file.rest_.data(), count);
    file.rest_ = file.rest_.subspan(count);
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::span<const std::byte> rest_;
  const Reporter& report_;
  int passes_ = 1;
  png_bytep out_ = nullptr;
  std::size_t row_ = 0;
  char message_[128] = {};
  std::jmp_buf jump_;
};

}  // namespace

const bool kReadsPng = true;

StoredPicture read_png(std::span<const std::byte> bytes, const Reporter& report,
                       const CheckSize& check, bool samples) {
  PngFile file(bytes, report);
  file.read_header();
  check(file.height(), file.width());
  StoredPicture picture{.height = file.height(),
                        .width = file.width(),
                        .colour = file.has_colour(),
                        .orientation = file.orientation()};
  if (samples) file.read_samples(picture);
  return picture;
}

#else

const bool kReadsPng = false;

StoredPicture read_png(std::span<const std::byte>, const Reporter&, const CheckSize&, bool) {
  return {};
}

#endif

}  // namespace limpid::detail
