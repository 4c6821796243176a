// A file mapped into memory, for reading, that may be truncated meanwhile.
//
// A page that the file no longer has, or that its device cannot deliver, ends a process that reads
// it with SIGBUS. Here a handler, installed by the first Open, replaces the page and all pages
// after it by zeros and marks the mapping. So callers must call Check() after reading and before
// they use what was read. SIGBUS for any other reason has its former effect.
//
// What is written into the file shows in the mapping, later than any check: whatever memory safety
// depends on, such as a label that is an index, is to be copied before it is checked.

#ifndef DTNN_DATA_FILES_MAPPED_FILE_H_
#define DTNN_DATA_FILES_MAPPED_FILE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn {

struct MappedRegion;  // what the signal handler knows of a mapping

class MappedFile {
 public:
  // The file as a whole, which the system begins to read; errors as of input_file.h.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const uint8_t> bytes() const { return bytes_; }
  // DataLoss once a page could not be read. Costs a load from memory.
  absl::Status Check() const;

 private:
  MappedFile(std::string path, std::span<const uint8_t> bytes, MappedRegion* region);

  const std::string path_;
  const std::span<const uint8_t> bytes_;
  MappedRegion* const region_;  // null for an empty file
};

}  // namespace dtnn

#endif  // DTNN_DATA_FILES_MAPPED_FILE_H_
