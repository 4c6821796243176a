#include "data/testing/idx_files.h"

#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace dtnn::testing {

Bytes IdxBytes(const std::vector<uint32_t>& extents, std::span<const uint8_t> elements) {
  Bytes bytes = {0, 0, 8, uint8_t(extents.size())};
  for (uint32_t extent : extents) {
    for (int shift : {24, 16, 8, 0}) bytes.push_back(uint8_t(extent >> shift));
  }
  bytes.insert(bytes.end(), elements.begin(), elements.end());
  return bytes;
}

Bytes Elements(size_t count) {
  Bytes elements(count);
  uint32_t state = 1;
  for (uint8_t& element : elements) {
    state = state * 1664525 + 1013904223;
    element = uint8_t(state >> 24);
  }
  return elements;
}

Bytes Gzip(std::span<const uint8_t> bytes) {
  z_stream stream = {};
  if (deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
  Bytes packed(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<uint8_t*>(bytes.data());
  stream.avail_in = uInt(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = uInt(packed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string NewFolder(std::string_view name) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder.string();
}

std::string WriteFile(const std::string& folder, std::string_view name,
                      std::span<const uint8_t> bytes) {
  const std::string path = (std::filesystem::path(folder) / name).string();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  return path;
}

}  // namespace dtnn::testing
