#include "data/images/png_chunks.h"

#include <zlib.h>

#include <cstddef>
#include <cstring>

namespace dtnn {
namespace {

uint32_t BigEndian(std::span<const uint8_t> bytes, size_t at) {
  return uint32_t(bytes[at]) << 24 | uint32_t(bytes[at + 1]) << 16 | uint32_t(bytes[at + 2]) << 8 |
         bytes[at + 3];
}

}  // namespace

PngChunks LookAtPngChunks(std::span<const uint8_t> bytes) {
  constexpr size_t kSignature = 8, kAround = 12;  // length and type before, checksum after the data
  PngChunks chunks;
  bool has_data = false;
  size_t at = kSignature;
  while (at + kAround <= bytes.size()) {
    const size_t length = BigEndian(bytes, at);
    if (length > bytes.size() - at - kAround) break;
    const auto is = [&](const char* type) {
      return std::memcmp(bytes.data() + at + 4, type, 4) == 0;
    };
    if (is("IEND")) return chunks;
    has_data = has_data || is("IDAT");
    if (is("eXIf") && chunks.exif.empty() &&
        crc32(0, bytes.data() + at + 4, uInt(length + 4)) == BigEndian(bytes, at + 8 + length)) {
      chunks.exif = bytes.subspan(at + 8, length);
    }
    at += kAround + length;
  }
  // What is left may be the beginning of the end, but not of more data.
  const bool cut_off = at + 8 <= bytes.size() && std::memcmp(bytes.data() + at + 4, "IEND", 4) != 0;
  if (has_data && !cut_off) chunks.unmarked_end = at;
  return chunks;
}

}  // namespace dtnn
