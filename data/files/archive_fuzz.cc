// Feeds arbitrary bytes to the reader of archives: it must answer, stay inside its limits, and say
// of members of plain .tar files where their bytes really are, as tar_index.h relies on.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "data/files/archive_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr dtnn::ArchiveLimits kLimits = {
      .member_bytes = 1 << 18, .total_bytes = 1 << 20, .members = 100};
  absl::StatusOr<dtnn::ArchiveReader> archive =
      dtnn::ArchiveReader::Parse({data, size}, "input", kLimits);
  if (!archive.ok()) return 0;
  for (int64_t members = 0;; ++members) {
    const absl::StatusOr<bool> more = archive->Next();
    if (!more.ok() || !*more) return 0;
    if (members >= kLimits.members || archive->member().empty()) std::abort();
    if (archive->member().front() == '/' || archive->member().find("..") == 0) {
      std::abort();
    }
    const absl::StatusOr<std::vector<uint8_t>> bytes = archive->ReadAll();
    if (!bytes.ok()) return 0;
    if (bytes->size() > kLimits.member_bytes) std::abort();
    if (!archive->offset().has_value() || bytes->empty()) continue;
    const uint64_t offset = *archive->offset();
    if (offset > size || bytes->size() > size - offset ||
        !std::equal(bytes->begin(), bytes->end(), data + offset)) {
      std::abort();
    }
  }
}
