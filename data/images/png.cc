#include "data/images/png.h"

#include <png.h>

#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "data/images/image_channels.h"
#include "data/images/image_limits.h"
#include "data/images/png_chunks.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr uint8_t kSignature[8] = {0x89, 'P', 'N', 'G', 0x0d, 0x0a, 0x1a, 0x0a};

// The chunk that ends a file, with its checksum.
constexpr uint8_t kEnd[12] = {0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82};

// The library reports errors by calling a function that must not return. It jumps back into one of
// the functions below that call setjmp; these hold no objects with destructors.
struct Decoder {
  png_structp png = nullptr;
  png_infop info = nullptr;
  const uint8_t* next = nullptr;
  size_t left = 0;
  bool end_is_missing = false;  // and is to be added to what is left
  bool cut_short = false;
  jmp_buf jump = {};
  char message[160] = {};
};

[[noreturn]] void Fail(png_structp png, png_const_charp message) {
  Decoder* decoder = static_cast<Decoder*>(png_get_error_ptr(png));
  std::strncpy(decoder->message, message, sizeof decoder->message - 1);
  std::longjmp(decoder->jump, 1);
}

void Ignore(png_structp, png_const_charp) {}

void ReadBytes(png_structp png, png_bytep to, size_t count) {
  Decoder* decoder = static_cast<Decoder*>(png_get_io_ptr(png));
  if (decoder->left == 0 && decoder->end_is_missing) {
    decoder->end_is_missing = false;
    decoder->next = kEnd;
    decoder->left = sizeof kEnd;
  }
  if (count > decoder->left) {
    decoder->cut_short = true;
    png_error(png, "the file is truncated");
  }
  std::memcpy(to, decoder->next, count);
  decoder->next += count;
  decoder->left -= count;
}

// False: decoder.message says why.
bool ReadHeader(Decoder& decoder) {
  if (setjmp(decoder.jump) != 0) return false;
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, Fail, Ignore);
  if (decoder.png == nullptr) return false;
  decoder.info = png_create_info_struct(decoder.png);
  if (decoder.info == nullptr) return false;
  png_set_read_fn(decoder.png, &decoder, ReadBytes);
  // The extents are compared with the caller's limit instead.
  png_set_user_limits(decoder.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  // Text, profiles and all else that the pixels do not depend on is skipped: the library would take
  // as much memory for it as it claims to need.
  png_set_keep_unknown_chunks(decoder.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(decoder.png, decoder.info);
  return true;
}

// To 8 bits and `channels` channels, or three that become one afterwards.
bool Start(Decoder& decoder, int channels) {
  if (setjmp(decoder.jump) != 0) return false;
  png_set_expand(decoder.png);
  png_set_scale_16(decoder.png);
  png_set_strip_alpha(decoder.png);
  const bool grey = (png_get_color_type(decoder.png, decoder.info) & PNG_COLOR_MASK_COLOR) == 0;
  if (grey && channels == 3) png_set_gray_to_rgb(decoder.png);
  png_set_interlace_handling(decoder.png);
  png_read_update_info(decoder.png, decoder.info);
  return true;
}

// One value in a byte of its own, as the file stores it.
bool StartMask(Decoder& decoder) {
  if (setjmp(decoder.jump) != 0) return false;
  png_set_packing(decoder.png);
  png_set_interlace_handling(decoder.png);
  png_read_update_info(decoder.png, decoder.info);
  return true;
}

bool ReadRows(Decoder& decoder, int passes, uint32_t height, uint8_t* to, size_t row_bytes) {
  if (setjmp(decoder.jump) != 0) return false;
  for (int pass = 0; pass < passes; ++pass) {
    for (uint32_t row = 0; row < height; ++row) {
      png_read_row(decoder.png, to + row * row_bytes, nullptr);
    }
  }
  png_read_end(decoder.png, nullptr);
  return true;
}

class Png {
 public:
  explicit Png(std::span<const uint8_t> bytes) {
    const uint64_t unmarked_end = LookAtPngChunks(bytes).unmarked_end;
    decoder_.next = bytes.data();
    decoder_.left = unmarked_end > 0 ? unmarked_end : bytes.size();
    decoder_.end_is_missing = unmarked_end > 0;
  }
  ~Png() { png_destroy_read_struct(&decoder_.png, &decoder_.info, nullptr); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;

  absl::Status Open(int64_t max_pixels) {
    if (!ReadHeader(decoder_)) return Error();
    return CheckImageExtents(height(), width(), max_pixels);
  }

  // Deflate's densest code is a match of 258 bytes in 2 bits.
  absl::Status CheckLength(uint64_t bytes) const {
    constexpr uint64_t kDensest = 1032;
    const uint64_t row_bytes = png_get_rowbytes(decoder_.png, decoder_.info);
    if (uint64_t(height()) * row_bytes / kDensest <= bytes) return absl::OkStatus();
    return ShorterThanItsPixels(height(), width(), bytes);
  }

  absl::Status Begin(int channels) {
    return Start(decoder_, channels) ? absl::OkStatus() : Error();
  }
  absl::Status BeginMask() { return StartMask(decoder_) ? absl::OkStatus() : Error(); }
  absl::Status Finish(uint8_t* to, size_t row_bytes) {
    const bool interlaced =
        png_get_interlace_type(decoder_.png, decoder_.info) != PNG_INTERLACE_NONE;
    return ReadRows(decoder_, interlaced ? PNG_INTERLACE_ADAM7_PASSES : 1, uint32_t(height()), to,
                    row_bytes)
               ? absl::OkStatus()
               : Error();
  }

  int64_t height() const { return png_get_image_height(decoder_.png, decoder_.info); }
  int64_t width() const { return png_get_image_width(decoder_.png, decoder_.info); }
  int channels() const { return png_get_channels(decoder_.png, decoder_.info); }
  bool grey() const {
    return (png_get_color_type(decoder_.png, decoder_.info) & PNG_COLOR_MASK_COLOR) == 0;
  }
  int color_type() const { return png_get_color_type(decoder_.png, decoder_.info); }
  int bit_depth() const { return png_get_bit_depth(decoder_.png, decoder_.info); }

 private:
  absl::Status Error() const {
    if (decoder_.png == nullptr || decoder_.info == nullptr) {
      return absl::ResourceExhaustedError("not enough memory to decode it");
    }
    if (decoder_.cut_short) return DataLoss("is truncated; is it complete?");
    return DataLoss("is damaged (", decoder_.message, "); is it complete?");
  }

  Decoder decoder_;
};

absl::StatusOr<Image> Decode(Png& png, const ImageOptions& options) {
  DTNN_RETURN_IF_ERROR(png.Begin(options.channels));
  const int stored = png.channels();
  if (stored != options.channels && stored != 3)
    return absl::InternalError("has an unsupported number of channels");
  Image image;
  image.extents = {png.height(), png.width(), stored};
  const size_t row_bytes = size_t(png.width()) * size_t(stored);
  image.pixels.resize(size_t(png.height()) * row_bytes);
  DTNN_RETURN_IF_ERROR(png.Finish(image.pixels.data(), row_bytes));
  return WithChannels(std::move(image), options.channels);
}

absl::Status CheckMask(const Png& png) {
  const int type = png.color_type();
  const char* found = type == PNG_COLOR_TYPE_GRAY_ALPHA ? "grey with alpha"
                      : png.bit_depth() > 8             ? "of 16 bits"
                      : type != PNG_COLOR_TYPE_GRAY && type != PNG_COLOR_TYPE_PALETTE ? "in colour"
                                                                                      : nullptr;
  if (found == nullptr) return absl::OkStatus();
  return InvalidArgument("is ", found, "; a mask is a grey PNG of 8 bits or one with a palette, ",
                         "where each pixel's value is its class");
}

absl::StatusOr<Image> ReadMask(Png& png) {
  DTNN_RETURN_IF_ERROR(png.BeginMask());
  Image mask = {.extents = {png.height(), png.width(), 1}, .pixels = {}};
  mask.pixels.resize(size_t(png.height() * png.width()));
  DTNN_RETURN_IF_ERROR(png.Finish(mask.pixels.data(), size_t(png.width())));
  return mask;
}

}  // namespace

bool LooksLikePng(std::span<const uint8_t> bytes) {
  return bytes.size() >= sizeof kSignature &&
         std::memcmp(bytes.data(), kSignature, sizeof kSignature) == 0;
}

absl::StatusOr<Image> DecodePng(std::span<const uint8_t> bytes, const ImageOptions& options) {
  Png png(bytes);
  DTNN_RETURN_IF_ERROR(png.Open(options.max_pixels));
  DTNN_RETURN_IF_ERROR(png.CheckLength(bytes.size()));
  try {
    return Decode(png, options);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("not enough memory to decode it");
  }
}

absl::StatusOr<Image> DecodePngMask(std::span<const uint8_t> bytes, int64_t max_pixels) {
  Png png(bytes);
  DTNN_RETURN_IF_ERROR(png.Open(max_pixels));
  DTNN_RETURN_IF_ERROR(CheckMask(png));
  DTNN_RETURN_IF_ERROR(png.CheckLength(bytes.size()));
  try {
    return ReadMask(png);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("not enough memory to decode it");
  }
}

absl::StatusOr<ImageExtents> ReadPngExtents(std::span<const uint8_t> bytes, int64_t max_pixels) {
  Png png(bytes);
  DTNN_RETURN_IF_ERROR(png.Open(max_pixels));
  return ImageExtents{png.height(), png.width(), png.grey() ? 1 : 3};
}

}  // namespace dtnn
