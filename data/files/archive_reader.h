// The files inside a .tar, .tar.gz or .zip archive, one after the other, without unpacking it to
// disk. The format is detected by content, not by name.
//
//   DTNN_ASSIGN_OR_RETURN(ArchiveReader archive, ArchiveReader::Open(path));
//   for (;;) {
//     DTNN_ASSIGN_OR_RETURN(const bool more, archive.Next());
//     if (!more) break;
//     if (archive.member() == "folder/file") { ... archive.ReadAll() ... }
//   }
//
// An archive is not trusted. A member with an absolute name or with ".." in it is refused, folders,
// links and devices are passed over, and sizes are checked against limits before memory is taken:
// of a member, of all that is unpacked, and of the number of members. Memory grows with what has
// been read, not with what a header promises. Checksums (gzip, zip) are verified where the data are
// read to the end. Errors name the archive and the member: NotFound, PermissionDenied for the file,
// InvalidArgument for contents that are refused, DataLoss for damage and unfinished downloads,
// ResourceExhausted beyond a limit. After an error a reader gives nothing more.

#ifndef DTNN_DATA_FILES_ARCHIVE_READER_H_
#define DTNN_DATA_FILES_ARCHIVE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

struct ArchiveLimits {
  uint64_t member_bytes = uint64_t{4} << 30;
  uint64_t total_bytes = uint64_t{64} << 30;  // unpacked; of a plain .tar, what is read
  int64_t members = 10'000'000;
};

// Not to be used by two threads at once.
class ArchiveReader {
 public:
  static absl::StatusOr<ArchiveReader> Open(const std::string& path,
                                            const ArchiveLimits& limits = {});
  // A .tar that lies in a file at [offset, offset + size): a member of a plain .tar, see offset().
  static absl::StatusOr<ArchiveReader> OpenRange(const std::string& path, uint64_t offset,
                                                 uint64_t size, const ArchiveLimits& limits = {});
  // From memory that outlives the reader; `name` stands for the path in messages.
  static absl::StatusOr<ArchiveReader> Parse(std::span<const uint8_t> bytes, std::string_view name,
                                             const ArchiveLimits& limits = {});
  ~ArchiveReader();
  ArchiveReader(ArchiveReader&&) noexcept;
  ArchiveReader& operator=(ArchiveReader&&) noexcept;

  // Moves to the next file; false at the end. In a plain .tar, what was not read is skipped.
  absl::StatusOr<bool> Next();

  // The name, without "./" before it, and the size of the file that Next() reached.
  const std::string& member() const;
  uint64_t size() const;
  // Where its bytes begin in a plain .tar file, so that they can be read again without this reader;
  // nullopt for packed ones.
  std::optional<uint64_t> offset() const;

  // Fills `to` with the bytes that come next and returns how many those are: fewer than asked only
  // at the member's end.
  absl::StatusOr<size_t> Read(std::span<uint8_t> to);
  // The rest of the member.
  absl::StatusOr<std::vector<uint8_t>> ReadAll();

 private:
  class Impl;
  explicit ArchiveReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dtnn

#endif  // DTNN_DATA_FILES_ARCHIVE_READER_H_
