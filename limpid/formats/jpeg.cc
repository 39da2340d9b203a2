// JPEG, by libjpeg-turbo.
#include "limpid/formats/detail/picture_codec.h"

#ifdef LIMPID_JPEG
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
// These two need <cstdio> before them.
#include <jpeglib.h>
// Names of the errors.
#include <jerror.h>
#endif

namespace limpid::detail {

#ifdef LIMPID_JPEG
namespace {

// libjpeg reports an error by a call that must not return: it jumps. So what is between the jump
// and the place that it goes to, the functions `step` below, has no objects that would have to be
// destroyed.
class JpegFile {
 public:
  JpegFile(std::span<const std::byte> bytes, const Reporter& report, int scans)
      : bytes_(bytes), report_(report), most_scans_(scans) {
    jpeg_.err = jpeg_std_error(&errors_);
    errors_.error_exit = on_error;
    errors_.emit_message = on_message;
    jpeg_.client_data = this;
    if (!runs([](JpegFile& file) { jpeg_create_decompress(&file.jpeg_); })) fail();
  }
  ~JpegFile() { jpeg_destroy_decompress(&jpeg_); }
  JpegFile(const JpegFile&) = delete;
  JpegFile& operator=(const JpegFile&) = delete;

  void read_header() {
    attempt([](JpegFile& file) {
      constexpr unsigned int kWhole = 0xffff;  // bytes of a marker
      jpeg_mem_src(&file.jpeg_, reinterpret_cast<const unsigned char*>(file.bytes_.data()),
                   file.bytes_.size());
      jpeg_save_markers(&file.jpeg_, JPEG_APP0 + 1, kWhole);
      jpeg_read_header(&file.jpeg_, TRUE);
    });
    if (jpeg_.num_components != 1 && jpeg_.num_components != 3)
      report_.unsupported("expected a JPEG of 1 or 3 components, got {}", jpeg_.num_components);
  }

  std::int64_t height() const { return jpeg_.image_height; }
  std::int64_t width() const { return jpeg_.image_width; }
  int channels() const { return jpeg_.num_components; }

  int orientation() const {
    constexpr char kExif[] = {'E', 'x', 'i', 'f', 0, 0};
    for (const jpeg_marker_struct* marker = jpeg_.marker_list; marker; marker = marker->next)
      if (marker->data_length >= sizeof kExif &&
          std::memcmp(marker->data, kExif, sizeof kExif) == 0)
        return exif_orientation(
            std::as_bytes(std::span(marker->data, marker->data_length)).subspan(sizeof kExif));
    return 1;
  }

  void read_samples(StoredPicture& picture) {
    row_ = static_cast<std::size_t>(picture.width * picture.channels);
    picture.samples.resize(row_ * static_cast<std::size_t>(picture.height));
    out_ = reinterpret_cast<JSAMPROW>(picture.samples.data());
    progress_.progress_monitor = on_progress;
    jpeg_.progress = &progress_;
    attempt([](JpegFile& file) {
      jpeg_decompress_struct& jpeg = file.jpeg_;
      jpeg.out_color_space = jpeg.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
      jpeg.dct_method = JDCT_ISLOW;
      jpeg.do_fancy_upsampling = TRUE;
      jpeg.do_block_smoothing = FALSE;
      jpeg_start_decompress(&jpeg);
      while (jpeg.output_scanline < jpeg.output_height) {
        JSAMPROW row = file.out_ + jpeg.output_scanline * file.row_;
        jpeg_read_scanlines(&jpeg, &row, 1);
      }
      jpeg_finish_decompress(&jpeg);
    });
  }

 private:
  using Step = void (*)(JpegFile& file);

  void attempt(Step step) {
    if (!runs(step)) fail();
  }
  [[noreturn]] void fail() const {
    if (too_many_scans_)
      report_.unsupported("expected at most {} scans of a progressive JPEG", most_scans_);
    report_.broken("{}", message_);
  }
  bool runs(Step step) {
    if (setjmp(jump_) != 0) return false;
    step(*this);
    return true;
  }

  static JpegFile& of(j_common_ptr jpeg) { return *static_cast<JpegFile*>(jpeg->client_data); }

  static void on_error(j_common_ptr jpeg) {
    JpegFile& file = of(jpeg);
    jpeg->err->format_message(jpeg, file.message_);
    for (char* c = file.message_; *c; ++c)
      if (*c < ' ' || *c > '~') *c = '?';
    std::longjmp(file.jump_, 1);
  }
  // After a warning libjpeg guesses pixels. These do not touch them.
  static void on_message(j_common_ptr jpeg, int level) {
    constexpr int kHarmless[] = {JWRN_ADOBE_XFORM, JWRN_EXTRANEOUS_DATA, JWRN_JFIF_MAJOR,
                                 JWRN_TOO_MUCH_DATA};
    if (level < 0 && std::find(std::begin(kHarmless), std::end(kHarmless), jpeg->err->msg_code) ==
                         std::end(kHarmless))
      on_error(jpeg);
  }
  // Each scan of a few bytes passes over all pixels.
  static void on_progress(j_common_ptr jpeg) {
    JpegFile& file = of(jpeg);
    if (file.jpeg_.input_scan_number <= file.most_scans_) return;
    file.too_many_scans_ = true;
    std::longjmp(file.jump_, 1);
  }

  std::span<const std::byte> bytes_;
  const Reporter& report_;
  int most_scans_;
  bool too_many_scans_ = false;
  JSAMPROW out_ = nullptr;
  std::size_t row_ = 0;
  char message_[JMSG_LENGTH_MAX] = {};
  jpeg_progress_mgr progress_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_decompress_struct jpeg_ = {};
  std::jmp_buf jump_;
};

}  // namespace

const bool kReadsJpeg = true;

StoredPicture read_jpeg(std::span<const std::byte> bytes, const Reporter& report,
                        const CheckSize& check, int scans, bool samples) {
  JpegFile file(bytes, report, scans);
  file.read_header();
  check(file.height(), file.width());
  StoredPicture picture{.height = file.height(),
                        .width = file.width(),
                        .colour = file.channels() == 3,
                        .orientation = file.orientation(),
                        .channels = file.channels()};
  if (samples) file.read_samples(picture);
  return picture;
}

#else

const bool kReadsJpeg = false;

StoredPicture read_jpeg(std::span<const std::byte>, const Reporter&, const CheckSize&, int, bool) {
  return {};
}

#endif

}  // namespace limpid::detail
