// Small IDX files for tests.

#ifndef DTNN_DATA_TESTING_IDX_FILES_H_
#define DTNN_DATA_TESTING_IDX_FILES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtnn::testing {

using Bytes = std::vector<uint8_t>;

// A well-formed IDX file of unsigned bytes: `extents` in the header, then `elements`.
Bytes IdxBytes(const std::vector<uint32_t>& extents, std::span<const uint8_t> elements);
// `count` bytes without a pattern that a wrong index would hit by chance.
Bytes Elements(size_t count);

// One gzip member.
Bytes Gzip(std::span<const uint8_t> bytes);

// A new folder below the test's own temporary folder.
std::string NewFolder(std::string_view name);
// Writes folder/name and returns that path.
std::string WriteFile(const std::string& folder, std::string_view name,
                      std::span<const uint8_t> bytes);

}  // namespace dtnn::testing

#endif  // DTNN_DATA_TESTING_IDX_FILES_H_
