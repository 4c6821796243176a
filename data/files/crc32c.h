// CRC-32C (Castagnoli; RFC 3720, appendix B.4): the checksum of TFRecord files.

#ifndef DTNN_DATA_FILES_CRC32C_H_
#define DTNN_DATA_FILES_CRC32C_H_

#include <array>
#include <cstdint>
#include <span>

namespace dtnn {

constexpr uint32_t Crc32c(std::span<const uint8_t> bytes) {
  // The remainder of each byte by the reflected polynomial.
  constexpr std::array<uint32_t, 256> kTable = [] {
    std::array<uint32_t, 256> table = {};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t rest = byte;
      for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ (rest & 1 ? 0x82f63b78u : 0);
      table[byte] = rest;
    }
    return table;
  }();
  uint32_t rest = ~uint32_t{0};
  for (const uint8_t byte : bytes) rest = (rest >> 8) ^ kTable[(rest ^ byte) & 0xff];
  return ~rest;
}

// As TFRecord stores it: rotated and shifted, so that the checksum of data that hold their own
// checksum is not always the same.
constexpr uint32_t MaskedCrc32c(std::span<const uint8_t> bytes) {
  const uint32_t crc = Crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace dtnn

#endif  // DTNN_DATA_FILES_CRC32C_H_
